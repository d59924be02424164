//! The functions of a source file: what each is called from outside, and where its body lies.

use std::ops::Range;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, ItemImpl, ItemMod, ItemTrait, Signature, TraitItemFn, Type};

use crate::instrument::Sources;

#[derive(Clone, Debug)]
pub struct Function {
    /// Crate, modules, type or trait, name.
    pub path: Vec<String>,
    pub file: PathBuf,
    /// The bytes of its body, braces included.
    pub body: Range<usize>,
    /// The compiler calls it too, and then nothing can be removed from it.
    pub is_const: bool,
}

impl Function {
    /// Whether `domain::Run::after` names it: first the crate, last the function, and what is between in this order.
    pub fn is_called(&self, path: &str) -> bool {
        let sought: Vec<&str> = path.split("::").collect();
        let mut own = self.path.iter().map(String::as_str);
        own.next() == sought.first().copied()
            && sought.last() == Some(&self.own_name())
            && sought[1..].iter().all(|part| own.any(|own| own == *part))
    }

    /// With everything it lies in.
    pub fn name(&self) -> String {
        self.path.join("::")
    }

    pub fn own_name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    pub fn body_in<'a>(&self, sources: &'a Sources) -> &'a str {
        &sources[&self.file][self.body.clone()]
    }
}

/// The functions in a file at this path below the workspace's root; none where it belongs to no crate's `src`.
pub fn functions(file: &Path, code: &str) -> syn::Result<Vec<Function>> {
    let Some(path) = module(file) else { return Ok(Vec::new()) };
    let mut walk = Walk { path, file, found: Vec::new() };
    walk.visit_file(&syn::parse_file(code)?);
    Ok(walk.found)
}

/// `shared/domain/src/run/transitions.rs` is `domain::run::transitions`.
fn module(file: &Path) -> Option<Vec<String>> {
    let file = file.with_extension("");
    let parts: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
    let src = parts.iter().position(|part| *part == "src")?;
    let package = parts.get(src.checked_sub(1)?)?;
    let inside = parts[src + 1..].iter().filter(|part| !["lib", "main"].contains(part));
    Some([package].into_iter().chain(inside).map(ToString::to_string).collect())
}

struct Walk<'a> {
    path: Vec<String>,
    file: &'a Path,
    found: Vec<Function>,
}

impl Walk<'_> {
    fn within(&mut self, name: String, walk: impl FnOnce(&mut Self)) {
        self.path.push(name);
        walk(self);
        self.path.pop();
    }

    fn add(&mut self, signature: &Signature, body: &Block) {
        let name = signature.ident.to_string();
        let path = self.path.iter().cloned().chain([name]).collect();
        let braces = &body.brace_token.span;
        let body = braces.open().byte_range().start..braces.close().byte_range().end;
        let is_const = signature.constness.is_some();
        self.found.push(Function { path, file: self.file.to_path_buf(), body, is_const });
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        self.within(module.ident.to_string(), |walk| visit::visit_item_mod(walk, module));
    }

    fn visit_item_impl(&mut self, of: &'ast ItemImpl) {
        self.within(type_name(&of.self_ty), |walk| visit::visit_item_impl(walk, of));
    }

    fn visit_item_trait(&mut self, of: &'ast ItemTrait) {
        self.within(of.ident.to_string(), |walk| visit::visit_item_trait(walk, of));
    }

    // What lies inside a function is part of its body, and not walked into.

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add(&function.sig, &function.block);
    }

    fn visit_impl_item_fn(&mut self, method: &'ast ImplItemFn) {
        self.add(&method.sig, &method.block);
    }

    fn visit_trait_item_fn(&mut self, method: &'ast TraitItemFn) {
        if let Some(body) = &method.default {
            self.add(&method.sig, body);
        }
    }
}

/// `Sweep` of `Sweep<'_, D>` and of `&Sweep`; nothing where a type has no name.
fn type_name(of: &Type) -> String {
    match of {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
        Type::Reference(reference) => type_name(&reference.elem),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "
        fn free() {}
        impl<T> Store for Embedded<T> { async fn erase(&self) -> bool { fn inner() {} true } }
        trait Doors { fn required(&self); fn given(&self) { } }
        mod inline { const fn fixed() -> u8 { 1 } }
    ";

    #[test]
    fn a_function_is_called_by_crate_modules_and_type() {
        let found = functions(Path::new("shared/io/src/store/embedded.rs"), CODE).unwrap();

        let names: Vec<String> = found.iter().map(Function::name).collect();
        let expected = ["free", "Embedded::erase", "Doors::given", "inline::fixed"];
        assert_eq!(names, expected.map(|name| format!("io::store::embedded::{name}")));
        assert_eq!(&CODE[found[1].body.clone()], "{ fn inner() {} true }");
        assert_eq!(found.iter().map(|function| function.is_const).collect::<Vec<_>>(), [false, false, false, true]);
    }

    #[test]
    fn its_modules_may_be_left_out_and_nothing_else() {
        let found = functions(Path::new("shared/io/src/store/embedded.rs"), CODE).unwrap();
        let calls = |path: &str| found[1].is_called(path);

        assert!(calls("io::erase") && calls("io::Embedded::erase") && calls("io::store::Embedded::erase"));
        assert!(!calls("erase") && !calls("domain::erase") && !calls("io::Embedded") && !calls("io::Dynamo::erase"));
        assert!(!calls("io") && !calls("io::erase::erase"));
    }
}
