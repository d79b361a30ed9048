//! The common builtin errors.

use super::{between, notebook};
use crate::hint::{Hint, Setting};
use crate::pyerror::PythonError;

pub(super) fn hint(error: &PythonError) -> Option<Hint> {
    if let Some(missing) = missing_library(error) {
        return Some(missing);
    }
    if matches!(error.class(), "SyntaxError" | "IndentationError" | "TabError")
        && let Some(line) = notebook::hint(error)
    {
        return Some(line);
    }
    text(error).map(Hint::code)
}

/// What only the caller can bring.
fn missing_library(error: &PythonError) -> Option<Hint> {
    let message = error.message.as_str();
    if error.class() != "ImportError" {
        return None;
    }
    if message.contains("attempted relative import") {
        let hint = Hint::code("a relative import works only in a package");
        let hint = hint.say("; run it with `run -m PACKAGE.MODULE ");
        return Some(hint.set_to(Setting::Workdir, ["DIR"]).say("`"));
    }
    message.contains("cannot open shared object file").then(|| {
        Hint::code("a system library is missing in the jar; use a wheel that brings it")
            .say(", or ")
            .set(Setting::Mount)
            .say(" its folder")
    })
}

fn text(error: &PythonError) -> Option<String> {
    let message = error.message.as_str();
    let text = match error.class() {
        "NameError" | "UnboundLocalError" => return name(error),
        "AttributeError" => return attribute(error),
        "ImportError" => return import(error),
        "TypeError" => return kind(message),
        "ValueError" => return value(message),
        "SyntaxError" | "IndentationError" | "TabError" => return syntax(error),
        "KeyError" => format!("there is no key {message}; look at the keys first, or use .get() with a default"),
        "IndexError" => "the index is past the end; check len() first, and remember that counting starts at 0".into(),
        "ZeroDivisionError" => "the divisor is zero; check for it (an empty list has length 0) before dividing".into(),
        "RecursionError" => "the function calls itself without end; check the case that stops it, or use a loop".into(),
        "UnicodeDecodeError" => {
            "the bytes are not text in that encoding; open the file with the right encoding=, errors='replace', or in 'rb' mode".into()
        }
        "UnicodeEncodeError" => "that encoding has no such character; write with encoding='utf-8'".into(),
        "JSONDecodeError" => match message {
            text if text.starts_with("Expecting value: line 1 column 1") => {
                "the text is empty or not JSON at all; print its beginning to see what it is".into()
            }
            text if text.contains("double quotes") => "JSON wants names and strings in double quotes".into(),
            text if text.starts_with("Extra data") => "there is more than one JSON value; read it line by line".into(),
            _ => "the text is not valid JSON at that place; print it around there".into(),
        },
        "AssertionError" if message.is_empty() => "the assertion does not hold; print both sides of it to see why".into(),
        "EOFError" if message.contains("EOF when reading a line") => {
            "input() found no more on standard input; write the value into the code, or pipe it in".into()
        }
        "StopIteration" => "the iterator is used up; use a for loop, or next(it, default)".into(),
        "NotImplementedError" => "a subclass must implement this method".into(),
        "OverflowError" => "the number is too large for this operation; use int or decimal, or smaller values".into(),
        "IsADirectoryError" => "that path is a folder; name a file in it".into(),
        "NotADirectoryError" => "a part of that path is a file, not a folder".into(),
        "FileExistsError" => "it already exists; use exist_ok=True, or another name".into(),
        "TimeoutError" => "the operation took longer than its own timeout; give it more, or do less at once".into(),
        "KeyboardInterrupt" => return None,
        "BrokenPipeError" => "the reader of this pipe has ended".into(),
        "CalledProcessError" => "the program failed; run it with capture_output=True and print its stderr".into(),
        _ => return None,
    };
    Some(text)
}

fn listed(names: &[String]) -> Option<String> {
    let names = names
        .iter()
        .take(3)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    (!names.is_empty()).then(|| format!("did you mean {names}?"))
}

fn suggested(message: &str) -> Option<String> {
    between(message, "Did you mean: '", "'").map(|name| format!("did you mean {name}?"))
}

fn name(error: &PythonError) -> Option<String> {
    let message = error.message.as_str();
    if message.contains("where it is not associated with a value")
        || message.contains("referenced before assignment")
    {
        return Some("the variable is assigned later in the same function; assign it first, or declare it global or nonlocal".into());
    }
    let name = between(message, "name '", "'")?;
    if message.contains("forget to import") || WELL_KNOWN.contains(&name) {
        return Some(format!("add `import {name}` at the top"));
    }
    if let Some((_, alias)) = ALIASES.iter().find(|(short, _)| *short == name) {
        return Some(format!("add `import {alias} as {name}` at the top"));
    }
    listed(&error.names).or_else(|| suggested(message)).or_else(|| {
        Some(format!(
            "{name} is not defined at this point; define or import it first"
        ))
    })
}

const WELL_KNOWN: &[&str] = &[
    "asyncio",
    "collections",
    "csv",
    "datetime",
    "itertools",
    "json",
    "math",
    "os",
    "random",
    "re",
    "subprocess",
    "sys",
    "time",
];
const ALIASES: &[(&str, &str)] = &[
    ("np", "numpy"),
    ("pd", "pandas"),
    ("plt", "matplotlib.pyplot"),
    ("sns", "seaborn"),
    ("tf", "tensorflow"),
];

fn attribute(error: &PythonError) -> Option<String> {
    let message = error.message.as_str();
    if message.starts_with("'NoneType' object") {
        return Some("the value is None; a function before it returned nothing, so check its result".into());
    }
    if message.contains("circular import") || message.contains("partially initialized") {
        return Some("a file of yours has the name of the module, or two modules import each other; rename or restructure".into());
    }
    listed(&error.names).or_else(|| suggested(message)).or_else(|| {
        let owner = between(message, "'", "' object").or_else(|| between(message, "module '", "'"))?;
        Some(format!("{owner} has no such attribute; look at dir() of it"))
    })
}

fn import(error: &PythonError) -> Option<String> {
    let message = error.message.as_str();
    if message.contains("circular import") || message.contains("partially initialized") {
        return Some(
            "two modules import each other, or a file of yours has the module's name; rename or restructure"
                .into(),
        );
    }
    if message.starts_with("cannot import name") {
        return listed(&error.names).or_else(|| {
            Some("the module has no such name; its version may differ from the one you know".into())
        });
    }
    None
}

fn kind(message: &str) -> Option<String> {
    let text = if message.contains("missing") && message.contains("required") {
        let names = message.split(": ").nth(1).unwrap_or("what is missing");
        format!("pass {names}")
    } else if message.contains("unexpected keyword argument") {
        suggested(message).unwrap_or_else(|| "the function has no such parameter; check its name".into())
    } else if message.contains("positional argument") && message.contains("given") {
        "the call has too many arguments; a method also gets self".into()
    } else if message.contains("'NoneType' object") {
        "the value is None; a function before it returned nothing, so check its result".into()
    } else if message.contains("can only concatenate str") || message.contains("must be str, not") {
        "text and numbers do not add; use str(), or an f-string".into()
    } else if message.contains("unsupported operand type") && message.contains("'str'") {
        "one side is text; convert it with int() or float()".into()
    } else if message.contains("unsupported operand type") {
        "these types do not work with that operator; convert one of them".into()
    } else if message.contains("not supported between instances") {
        "values of different types cannot be compared; convert one of them".into()
    } else if message.contains("object is not callable") {
        "it is not a function; a variable may have taken the function's name, or an operator is missing before the parenthesis".into()
    } else if message.contains("unhashable type") {
        "lists, dicts and sets cannot be keys; use a tuple or frozenset".into()
    } else if message.contains("is not subscriptable") {
        "square brackets do not work on it; is it a function that must be called first?".into()
    } else if message.contains("object is not iterable") {
        "it cannot be looped over; use range(), or put it in a list".into()
    } else if message.contains("indices must be") {
        "a list takes numbers and a dict takes keys; look at which one it is".into()
    } else if message.contains("does not support item assignment") {
        "it cannot be changed in place; make a new one, or use a list".into()
    } else if message.contains("is not JSON serializable") {
        "convert it to str, list or dict first, or pass default=str".into()
    } else if message.contains("object can't be used in 'await'") {
        "it is not awaitable; leave out await".into()
    } else if message.starts_with("the code of a call") {
        "send a lambda, or source that ends with a def".into()
    } else if message.contains("cannot be sent as JSON") {
        "return None, bool, int, float, str, list or dict".into()
    } else {
        return None;
    };
    Some(text)
}

fn value(message: &str) -> Option<String> {
    let text = if message.starts_with("invalid literal for int()") {
        "the text is not a whole number; strip it, or use float() for a decimal"
    } else if message.starts_with("could not convert string to float") {
        "the text is not a number; strip it, and take out units and commas"
    } else if message.contains("values to unpack") {
        "the number of names on the left and of values on the right differ"
    } else if message.contains("is not in list") || message.contains("x not in list") {
        "check with `in` first"
    } else if message.contains("time data") && message.contains("does not match format") {
        "the date does not match the format; print it, and change the format"
    } else if message.contains("embedded null byte") {
        "the path has a zero byte in it"
    } else if message.contains("could not be broadcast") || message.contains("shapes") {
        "the arrays have different shapes; print .shape of both"
    } else if message.contains("truth value of a") {
        "use & and | with parentheses, or .any() and .all()"
    } else if message.starts_with("signal only works in main thread") {
        "set signal handlers in the main thread"
    } else {
        return None;
    };
    Some(text.into())
}

fn syntax(error: &PythonError) -> Option<String> {
    let message = error.message.as_str();
    let at = error
        .line
        .map_or(String::new(), |line| format!(" in line {line}"));
    let text = if message.starts_with("Missing parentheses in call to 'print'") {
        "print is a function in Python 3: print(...)".to_owned()
    } else if message.starts_with("Missing parentheses") {
        "call it with parentheses".to_owned()
    } else if message.contains("expected ':'") {
        format!("put a colon at the end of the statement{at}")
    } else if message.contains("was never closed") {
        let bracket = between(message, "'", "'").unwrap_or("bracket");
        format!("close the {bracket} that is opened{at}")
    } else if message.contains("unmatched") || message.contains("does not match opening") {
        format!("a bracket is closed{at} that was not opened, or with the wrong kind of bracket")
    } else if message.contains("unterminated") {
        format!("the string is not closed{at}; use three quotes for more than one line")
    } else if message.contains("f-string") {
        format!(
            "something in the braces of the f-string{at} is not an expression; before 3.12 it cannot use the string's own quotes"
        )
    } else if message.contains("unexpected indent") || message.contains("unindent does not match") {
        format!("the indentation{at} does not fit the lines above; use four spaces everywhere")
    } else if message.contains("expected an indented block") {
        format!("indent the body{at}, or put `pass` there")
    } else if message.contains("inconsistent use of tabs") {
        "use spaces only".to_owned()
    } else if message.contains("Maybe you meant '=='") {
        "a comparison is written ==".to_owned()
    } else if message.contains("Perhaps you forgot a comma") {
        format!("a comma or an operator is missing{at}")
    } else if message.contains("'return' outside function") || message.contains("'await' outside") {
        "this statement works only inside a function (await: inside async def)".to_owned()
    } else if message.contains("invalid character") || message.contains("non-printable") {
        format!("there is a character{at} that only looks like code, such as a curly quote; type it anew")
    } else if message.contains("leading zeros") {
        "write whole numbers without leading zeros, octal ones with 0o".to_owned()
    } else {
        format!("Python cannot read the code{at}; the mistake is there or just before")
    };
    Some(text)
}
