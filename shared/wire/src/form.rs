//! Form: all that is wrong with the form of a request, told at once. Serde stops at the first mistake; so it is noted, something
//! harmless is put in its place, and the text is read again, until nothing is wrong or enough was said.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::problem::FieldError;
use crate::suggestion;

/// More mistakes than this nobody mends in one go.
pub const MISTAKES: usize = 20;

/// Bytes that are read again at most: a large text with many mistakes is told fewer of them.
const WORK: usize = 16 << 20;

/// Places that are mended at most, those among them that follow from others.
const PLACES: usize = 4 * MISTAKES;

/// What is wrong with a request's form, and the request with something harmless in each of those places, so that what its parts mean
/// together can be looked at too.
#[derive(Debug)]
pub(crate) struct Misread<T> {
    pub(crate) errors: Vec<FieldError>,
    /// None where it stopped before all could be read.
    pub(crate) mended: Option<T>,
    /// The places that were mended. What is said of them besides, or of what is in them, follows from that.
    places: Vec<String>,
}

/// JSON as the type that it is to be, or all that is wrong with its form.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Misread<T>> {
    let first = match suggestion::read::<T>(text) {
        Ok(request) => return Ok(request),
        Err(first) => first,
    };
    let mut misread = Misread { errors: vec![first.clone()], mended: None, places: Vec::new() };
    if let Ok(whole) = serde_json::from_str::<Value>(text) {
        let mut work = WORK;
        misread.go_on(whole, first, &mut work);
    }
    Err(misread)
}

impl<T: DeserializeOwned> Misread<T> {
    fn go_on(&mut self, mut whole: Value, first: FieldError, work: &mut usize) {
        let mut next = first;
        while self.errors.len() <= MISTAKES && self.places.len() < PLACES {
            self.places.push(next.pointer.clone());
            let mended = mend::<T>(&mut whole, &next, work);
            self.places.extend(meant(&next));
            // An object of nothing but what is not known has nothing wrong besides.
            if let Some((above, _name)) = next.pointer.rsplit_once('/')
                && whole.pointer(above).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty)
            {
                self.places.push(above.to_owned());
            }
            match mended {
                Mended::Well(request) => return self.mended = Some(request),
                Mended::But(another) => next = another,
                Mended::Not => return,
            }
            if !self.follows(&next.pointer) {
                self.errors.push(next.clone());
            }
        }
    }
}

impl<T> Misread<T> {
    /// Whether what is said of this place follows from a mistake that was told.
    pub(crate) fn follows(&self, pointer: &str) -> bool {
        // Of an edge one part of which was not known, nothing is known.
        let is_half_an_edge = |place: &str| {
            pointer.contains("/depends_on/") && place.rsplit_once('/').is_some_and(|(above, _name)| above == pointer)
        };
        self.places.iter().any(|place| is_within(pointer, place) || is_half_an_edge(place))
    }
}

/// Whether a place is another one, or in it.
fn is_within(pointer: &str, place: &str) -> bool {
    pointer.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

enum Mended<T> {
    /// Nothing else is wrong.
    Well(T),
    /// This is.
    But(FieldError),
    /// Nothing that was put there helped.
    Not,
}

/// What stands in the place of a mistake: the first that is no mistake there.
fn mend<T: DeserializeOwned>(whole: &mut Value, error: &FieldError, work: &mut usize) -> Mended<T> {
    let Some((above, name)) = error.pointer.rsplit_once('/') else { return Mended::Not };
    let name = name.replace("~1", "/").replace("~0", "~");
    let stands_in = || [Value::from(""), Value::from(Vec::<Value>::new()), serde_json::json!({}), Value::from(1)];
    let noop = serde_json::json!({ "noop": {} });
    let is_unknown = error.detail.starts_with(suggestion::NO_SUCH_FIELD);
    let candidates = stands_in().into_iter().chain([noop]).map(Some);
    let candidates: Vec<_> = if is_unknown { vec![None] } else { candidates.chain([None]).collect() };
    for candidate in candidates {
        let is_put = match whole.pointer_mut(above) {
            Some(Value::Object(fields)) => put(fields, &name, candidate, &error.detail),
            Some(Value::Array(items)) => put_at(items, &name, candidate),
            _other => false,
        };
        if !is_put {
            continue;
        }
        let text = whole.to_string();
        let Some(left) = work.checked_sub(text.len()) else { return Mended::Not };
        *work = left;
        match suggestion::read::<T>(&text) {
            Ok(request) => return Mended::Well(request),
            Err(next) if next.pointer != error.pointer => return Mended::But(next),
            Err(_not_that) => {}
        }
    }
    Mended::Not
}

/// Where a field stands that was not known, once it is called what was meant.
fn meant(error: &FieldError) -> Option<String> {
    let (above, _name) = error.pointer.rsplit_once('/')?;
    guessed(&error.detail).map(|meant| format!("{above}/{meant}"))
}

/// The name that may have been meant.
fn guessed(detail: &str) -> Option<&str> {
    detail.strip_prefix(suggestion::NO_SUCH_FIELD)?.split('`').nth(1)
}

/// A field that is not known becomes the one that was meant, if it is not there already.
fn put(fields: &mut serde_json::Map<String, Value>, name: &str, value: Option<Value>, detail: &str) -> bool {
    let Some(value) = value else {
        let taken = fields.remove(name);
        let meant = guessed(detail);
        if let (Some(value), Some(meant)) = (taken, meant.filter(|meant| !fields.contains_key(*meant))) {
            fields.insert(meant.to_owned(), value);
        }
        return true;
    };
    fields.insert(name.to_owned(), value);
    true
}

/// Of a list nothing is taken away: the places of what follows would be others.
fn put_at(items: &mut [Value], index: &str, value: Option<Value>) -> bool {
    let place = index.parse::<usize>().ok().and_then(|index| items.get_mut(index));
    match (place, value) {
        (Some(place), Some(value)) => {
            *place = value;
            true
        }
        _nothing => false,
    }
}
