//! Where the running program is: places in the user's own files, numbered.
//!
//! Invariant: a place is the innermost frame of the stack that is no part of the library, in terms
//! of what the user wrote; 0 stands for no such frame. Deliberately not here: what is counted by
//! place (the core's `sites`), source maps themselves (the runtime's loader).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use deno_core::v8;
use mlrun_tensor_core::sites::UNKNOWN;

use crate::ownership::FunctionTexts;

/// Frames that are looked at first, and where all of these are the library's.
const FRAMES: [usize; 2] = [12, 100];

/// A place in a file of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// As V8 knows it, mostly a `file:` URL.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// 1-based.
    pub column: u32,
}

impl Place {
    /// With the whole path, as in stacks.
    pub fn full(&self) -> String {
        format!("{}:{}:{}", self.file, self.line, self.column)
    }

    /// As a table shows it: files below the current folder by their path from there.
    pub fn short(&self) -> String {
        let path = self.file.strip_prefix("file://").unwrap_or(&self.file);
        let cwd = std::env::current_dir().unwrap_or_default();
        let near = std::path::Path::new(path).strip_prefix(cwd).ok();
        let path = near.map_or_else(|| path.to_owned(), |near| near.display().to_string());
        format!("{path}:{}:{}", self.line, self.column)
    }
}

/// A position in what V8 runs: script, line and column.
type Position = (usize, usize, usize);

/// Places by number.
#[derive(Default)]
pub struct Places {
    by_position: RefCell<HashMap<Position, u32>>,
    by_place: RefCell<HashMap<Place, u32>>,
    all: RefCell<Vec<Place>>,
}

impl Places {
    /// The place of a number.
    pub fn get(&self, number: u32) -> Option<Place> {
        self.all.borrow().get(number.checked_sub(1)? as usize).cloned()
    }

    /// The number of the place where the program is.
    pub fn here(&self, scope: &mut v8::PinScope, texts: Option<&Rc<dyn FunctionTexts>>) -> u32 {
        FRAMES.iter().find_map(|limit| self.within(scope, *limit, texts)).unwrap_or(UNKNOWN)
    }

    fn within(
        &self,
        scope: &mut v8::PinScope,
        limit: usize,
        texts: Option<&Rc<dyn FunctionTexts>>,
    ) -> Option<u32> {
        v8::scope!(let scope, scope);
        let stack = v8::StackTrace::current_stack_trace(scope, limit)?;
        for index in 0..stack.get_frame_count() {
            let frame = stack.get_frame(scope, index)?;
            let position = (frame.get_script_id(), frame.get_line_number(), frame.get_column());
            if let Some(number) = self.by_position.borrow().get(&position) {
                if *number == UNKNOWN {
                    continue;
                }
                return Some(*number);
            }
            let file = frame.get_script_name(scope).map(|name| name.to_rust_string_lossy(scope));
            let number = match file.filter(|file| is_users(file)) {
                Some(file) => self.number(file, position, texts),
                None => UNKNOWN,
            };
            self.by_position.borrow_mut().insert(position, number);
            if number != UNKNOWN {
                return Some(number);
            }
        }
        None
    }

    fn number(
        &self,
        file: String,
        (_, line, column): Position,
        texts: Option<&Rc<dyn FunctionTexts>>,
    ) -> u32 {
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (line, column) = (small(line), small(column));
        let (line, column) =
            texts.and_then(|texts| texts.position(&file, line, column)).unwrap_or((line, column));
        let place = Place { file, line, column };
        let mut all = self.all.borrow_mut();
        *self.by_place.borrow_mut().entry(place).or_insert_with_key(|place| {
            all.push(place.clone());
            small(all.len())
        })
    }
}

/// Not a file inside the binary.
fn is_users(file: &str) -> bool {
    !file.is_empty() && !file.starts_with("ext:") && !file.starts_with("checkin:")
}

/// The function of the library that the user called, as far as the stack tells: the outermost one
/// before the user's own frame.
pub fn called(scope: &mut v8::PinScope) -> Option<String> {
    v8::scope!(let scope, scope);
    let stack = v8::StackTrace::current_stack_trace(scope, FRAMES[1])?;
    let mut called = None;
    for index in 0..stack.get_frame_count() {
        let frame = stack.get_frame(scope, index)?;
        let file = frame.get_script_name(scope).map(|name| name.to_rust_string_lossy(scope));
        if file.is_some_and(|file| is_users(&file)) {
            break;
        }
        let name = frame.get_function_name(scope).map(|name| name.to_rust_string_lossy(scope));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            called = Some(name);
        }
    }
    // A getter's function is called "get shape".
    called.map(|name| name.strip_prefix("get ").unwrap_or(&name).to_owned())
}
