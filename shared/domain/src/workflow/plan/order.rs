//! The order of tasks: none before what it depends on, and otherwise as they were written. Where there is no such order, the
//! cycle that forbids it.

use super::On;

/// The indices in order, or those of a cycle, each depending on the next.
pub(super) fn sorted(parents: &[Vec<(usize, On)>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut walk = Walk { parents, marks: vec![Mark::New; parents.len()], sorted: Vec::with_capacity(parents.len()) };
    for index in 0..parents.len() {
        walk.visit(index)?;
    }
    Ok(walk.sorted)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    /// On the path that is being walked.
    Open,
    Done,
}

struct Walk<'a> {
    parents: &'a [Vec<(usize, On)>],
    marks: Vec<Mark>,
    sorted: Vec<usize>,
}

impl Walk<'_> {
    /// By a path of its own and not by the stack's: a chain may be a thousand tasks deep.
    fn visit(&mut self, start: usize) -> Result<(), Vec<usize>> {
        if self.marks[start] != Mark::New {
            return Ok(());
        }
        let mut path = vec![(start, 0)];
        self.marks[start] = Mark::Open;
        while let Some((at, edge)) = path.last_mut() {
            let Some((parent, _)) = self.parents[*at].get(*edge) else {
                self.marks[*at] = Mark::Done;
                self.sorted.push(*at);
                path.pop();
                continue;
            };
            *edge += 1;
            match self.marks[*parent] {
                Mark::Done => {}
                Mark::New => {
                    self.marks[*parent] = Mark::Open;
                    path.push((*parent, 0));
                }
                Mark::Open => {
                    let from = path.iter().position(|(at, _)| at == parent).unwrap_or(0);
                    return Err(path[from..].iter().map(|(at, _)| *at).collect());
                }
            }
        }
        Ok(())
    }
}
