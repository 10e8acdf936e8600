//! Uncaught errors as people read them: message, code frame of the user's own source, stack.
//!
//! Positions are the user's: deno_core maps stack frames through the loader's source maps.
//! Frames inside extensions are left out, here and in what scripts see as `error.stack`.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use deno_core::error::CoreError;
use deno_core::error::CoreErrorKind;
use deno_core::error::ErrorElement;
use deno_core::error::ErrorFormat;
use deno_core::error::JsError;
use deno_core::error::JsStackFrame;
use deno_core::error::NoAnsiColors;
use deno_core::error::format_frame;
use deno_core::v8;
use deno_error::JsErrorClass;
use mlrun_compiler::FrameStyle;
use mlrun_compiler::code_frame;

use crate::loader::LoadError;
use crate::loader::Location;

/// Lines of a stack that are worth reading.
const MAX_FRAMES: usize = 30;

/// Causes of causes that are shown.
const MAX_DEPTH: usize = 8;

/// An uncaught error with the source text that its code frames need.
#[derive(Debug)]
pub struct Report {
    headline: String,
    place: Option<Place>,
    help: Option<String>,
    frames: Vec<JsStackFrame>,
    /// A stack that the program made up itself, shown as it is.
    custom_stack: Option<String>,
    parts: Vec<(&'static str, Report)>,
}

#[derive(Debug)]
struct Place {
    at: Location,
    source: Rc<str>,
}

/// What the loader knows about the program.
pub(crate) trait Program {
    /// The text of a module as the user wrote it.
    fn source(&self, specifier: &str) -> Option<Rc<str>>;
    /// The error of the loader that a script sees under this message.
    fn load_error(&self, message: &str) -> Option<Rc<LoadError>>;
}

impl Report {
    pub(crate) fn new(error: &CoreError, program: &dyn Program) -> Self {
        match error.as_kind() {
            CoreErrorKind::Js(error) => Self::from_js_error(error, program, &[]),
            CoreErrorKind::JsBox(error) => {
                let message = error.get_message();
                match program.load_error(&message) {
                    Some(error) => Self::from_load_error(&error, program),
                    None => Self::headline(format!("{}: {message}", error.get_class())),
                }
            }
            other => Self::headline(other.to_string()),
        }
    }

    /// An error that has no place in the program.
    pub(crate) fn headline(headline: String) -> Self {
        Self {
            headline,
            place: None,
            help: None,
            frames: Vec::new(),
            custom_stack: None,
            parts: Vec::new(),
        }
    }

    /// A module that could not be loaded.
    pub(crate) fn from_load_error(error: &LoadError, program: &dyn Program) -> Self {
        let at = error.location.clone();
        Self {
            frames: at.iter().map(frame_of).collect(),
            place: at.and_then(|at| place(at, program)),
            help: error.help().map(str::to_owned),
            ..Self::headline(error.kind.to_string())
        }
    }

    /// `outer`: the errors that led to this one, outermost first.
    fn from_js_error(error: &JsError, program: &dyn Program, outer: &[&JsError]) -> Self {
        if outer.iter().any(|outer| outer.is_same_error(error)) {
            return Self::headline("[circular]".to_owned());
        }
        let load_error = error.message.as_deref().and_then(|message| program.load_error(message));
        if let Some(load_error) = load_error {
            return Self::from_load_error(&load_error, program);
        }
        let frames: Vec<JsStackFrame> = error
            .frames
            .iter()
            .filter(|frame| !is_internal(frame))
            .cloned()
            .map(|frame| JsStackFrame {
                // The place of a syntax error has no function.
                is_top_level: frame.is_top_level.or(Some(true)),
                function_name: frame.function_name.filter(|name| split_inserted(name).is_none()),
                ..frame
            })
            .collect();
        let at = frames.iter().find_map(location_of);
        let mut parts = Vec::new();
        if outer.len() < MAX_DEPTH {
            let outer = [outer, &[error]].concat();
            for part in error.aggregated.iter().flatten() {
                parts.push(("", Self::from_js_error(part, program, &outer)));
            }
            if let Some(cause) = &error.cause {
                parts.push(("Caused by: ", Self::from_js_error(cause, program, &outer)));
            }
        }
        // Every error of a module's top level comes as a rejected promise: no need to say so.
        let message = error.exception_message.replacen("Uncaught (in promise) ", "Uncaught ", 1);
        let headline = match outer {
            [] => message,
            _ => message.trim_start_matches("Uncaught ").to_owned(),
        };
        Self {
            headline,
            place: at.and_then(|at| place(at, program)),
            help: None,
            frames,
            custom_stack: error.stack.clone().filter(|_| error.stack_is_custom),
            parts,
        }
    }

    /// The whole text, without a newline at the end.
    pub fn render(&self, colour: bool) -> String {
        let mut out = String::new();
        let error = if colour { "\u{1b}[1;31merror\u{1b}[0m" } else { "error" };
        out.push_str(&format!("{error}: {}", self.headline));
        self.render_body(&mut out, "", colour);
        out
    }

    fn render_body(&self, out: &mut String, indent: &str, colour: bool) {
        if let Some(Place { at, source }) = &self.place {
            let style = FrameStyle { colour, ..FrameStyle::default() };
            let frame = code_frame(source, at.line, at.column, at.length, &style);
            push_lines(out, indent, &frame);
        }
        if let Some(help) = &self.help {
            push_lines(out, indent, &format!("help: {help}"));
        }
        match &self.custom_stack {
            Some(stack) => push_lines(out, indent, stack),
            None => self.render_frames(out, indent, colour),
        }
        for (label, part) in &self.parts {
            let deeper = if label.is_empty() { format!("{indent}    ") } else { indent.to_owned() };
            push_lines(out, &deeper, &format!("{label}{}", part.headline));
            part.render_body(out, &deeper, colour);
        }
    }

    fn render_frames(&self, out: &mut String, indent: &str, colour: bool) {
        for frame in self.frames.iter().take(MAX_FRAMES) {
            let text = match colour {
                true => format_frame::<Ansi>(frame, None),
                false => format_frame::<NoAnsiColors>(frame, None),
            };
            push_lines(out, indent, &format!("    at {text}"));
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

fn push_lines(out: &mut String, indent: &str, text: &str) {
    for line in text.lines() {
        out.push('\n');
        out.push_str(indent);
        out.push_str(line);
    }
}

fn place(at: Location, program: &dyn Program) -> Option<Place> {
    let source = program.source(&at.specifier)?;
    Some(Place { at, source })
}

fn is_internal(frame: &JsStackFrame) -> bool {
    frame.file_name.as_deref().is_some_and(is_internal_file)
}

fn is_internal_file(name: &str) -> bool {
    name.starts_with("ext:")
}

fn frame_of(at: &Location) -> JsStackFrame {
    let (line, column) = (Some(at.line.into()), Some(at.column.into()));
    JsStackFrame {
        is_top_level: Some(true),
        ..JsStackFrame::from_location(Some(at.specifier.clone()), line, column)
    }
}

fn location_of(frame: &JsStackFrame) -> Option<Location> {
    Some(Location {
        specifier: frame.file_name.clone()?,
        line: u32::try_from(frame.line_number?).ok()?,
        column: u32::try_from(frame.column_number?).ok()?,
        length: 1,
    })
}

/// Colours of stack frames.
struct Ansi;

impl ErrorFormat for Ansi {
    fn fmt_element(element: ErrorElement, _in_extension_code: bool, s: &str) -> Cow<'_, str> {
        let code = match element {
            ErrorElement::Anonymous | ErrorElement::NativeFrame | ErrorElement::FileName => "36",
            ErrorElement::LineNumber | ErrorElement::ColumnNumber => "33",
            ErrorElement::FunctionName | ErrorElement::PromiseAll => "1;3",
            _ => return s.into(),
        };
        format!("\u{1b}[{code}m{s}\u{1b}[0m").into()
    }
}

/// V8 names a function or class that has no name after the calls around it, be it those that the
/// ownership pass put there, whose runtime half is `$own`, `$_own` or longer: what stands before and
/// behind such a name and its dot.
fn split_inserted(text: &str) -> Option<(&str, &str)> {
    text.match_indices("own.").find_map(|(at, found)| {
        let before = text[..at].trim_end_matches(['$', '_']);
        let prefix = &text[before.len()..at];
        let apart = !before.ends_with(|c: char| c.is_alphanumeric());
        (apart && prefix.starts_with('$')).then(|| (before, &text[at + found.len()..]))
    })
}

/// A stack as it is without the pass: functions named after its calls have no name.
fn without_inserted_names(stack: &str) -> String {
    let lines = stack.split('\n').map(|line| {
        let Some((at, place)) = line.split_once(" (").filter(|(at, _)| at.starts_with("    at "))
        else {
            return Cow::Borrowed(line);
        };
        let Some((before, inserted)) = split_inserted(at) else { return Cow::Borrowed(line) };
        let named = inserted.split_once(" [as ").map(|(_, name)| name.trim_end_matches(']'));
        // A method of a class without a name.
        let method = inserted.rsplit_once('.').map(|(_, name)| name);
        Cow::Owned(match (named, method.filter(|name| !name.starts_with('$'))) {
            (None, Some(method)) if before == "    at " => {
                format!("{before}Object.{method} ({place}")
            }
            (None, _) if before == "    at " => format!("{before}{}", place.trim_end_matches(')')),
            (named, _) => format!("{before}{} ({place}", named.unwrap_or("<anonymous>")),
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// V8's hook for `error.stack`: deno_core's, without the frames inside extensions.
pub(crate) fn prepare_stack_trace<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    error: v8::Local<'s, v8::Value>,
    sites: v8::Local<'s, v8::Array>,
) -> v8::Local<'s, v8::Value> {
    let mut shown = Vec::new();
    for index in 0..sites.length() {
        match sites.get_index(scope, index) {
            Some(site) if !is_internal_site(scope, site) => shown.push(site),
            _ => {}
        }
    }
    // An error of the library itself keeps its frames: there is nothing else to go by.
    let sites = match shown.len() {
        0 => sites,
        _ => v8::Array::new_with_elements(scope, &shown),
    };
    let stack = deno_core::error::prepare_stack_trace_callback(scope, error, sites);
    if let Ok(text) = stack.try_cast::<v8::String>() {
        let text = text.to_rust_string_lossy(scope);
        if split_inserted(&text).is_some()
            && let Some(text) = v8::String::new(scope, &without_inserted_names(&text))
        {
            return text.into();
        }
    }
    stack
}

fn is_internal_site<'s>(scope: &mut v8::PinScope<'s, '_>, site: v8::Local<'s, v8::Value>) -> bool {
    let name = (|| {
        let site = site.try_cast::<v8::Object>().ok()?;
        let key = v8::String::new(scope, "getFileName")?;
        let get = site.get(scope, key.into())?.try_cast::<v8::Function>().ok()?;
        let name = get.call(scope, site.into(), &[])?.try_cast::<v8::String>().ok()?;
        Some(name.to_rust_string_lossy(scope))
    })();
    name.as_deref().is_some_and(is_internal_file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_runtime_half_are_no_names() {
        let cases = [
            ("    at f (x.js:1:2)", "    at f (x.js:1:2)"),
            ("    at $own.lit (x.js:1:2)", "    at x.js:1:2"),
            ("    at $_own.lit (x.js:1:2)", "    at x.js:1:2"),
            ("    at Array.$_$own.lit (x.js:1:2)", "    at Array.<anonymous> (x.js:1:2)"),
            ("    at Object.$own.lit [as b] (x.js:1:2)", "    at Object.b (x.js:1:2)"),
            ("    at $own.call.$own.first.$2_.m (x.js:1:2)", "    at Object.m (x.js:1:2)"),
            ("    at new $own.fresh.$1_ (x.js:1:2)", "    at new <anonymous> (x.js:1:2)"),
            ("    at my$own.f (x.js:1:2)", "    at my$own.f (x.js:1:2)"),
            ("    at own.f (x.js:1:2)", "    at own.f (x.js:1:2)"),
        ];
        for (stack, want) in cases {
            assert_eq!(without_inserted_names(stack), want);
        }
    }
}
