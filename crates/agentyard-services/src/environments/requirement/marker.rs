//! When a requirement is needed: `python_version < "3.11" and sys_platform == "linux"`. Whether it is, the installer works
//! out; here it is only made sure that it is a marker, and it is written anew.

use super::scanner::Scanner;

/// How deep parentheses may be.
const MAX_DEPTH: usize = 20;

const VARIABLES: &[&str] = &[
    "python_version",
    "python_full_version",
    "os_name",
    "sys_platform",
    "platform_release",
    "platform_system",
    "platform_version",
    "platform_machine",
    "platform_python_implementation",
    "implementation_name",
    "implementation_version",
    "extra",
];

/// The longest first: one begins like another.
const COMPARISONS: &[&str] = &["===", "==", "~=", "!=", "<=", ">=", "<", ">"];

/// Reads a marker, and writes it anew.
pub(super) fn read(scanner: &mut Scanner<'_>) -> Result<String, String> {
    any(scanner, 0)
}

fn any(scanner: &mut Scanner<'_>, depth: usize) -> Result<String, String> {
    let mut text = all(scanner, depth)?;
    while scanner.take_word("or") {
        text = format!("{text} or {}", all(scanner, depth)?);
    }
    Ok(text)
}

fn all(scanner: &mut Scanner<'_>, depth: usize) -> Result<String, String> {
    let mut text = one(scanner, depth)?;
    while scanner.take_word("and") {
        text = format!("{text} and {}", one(scanner, depth)?);
    }
    Ok(text)
}

fn one(scanner: &mut Scanner<'_>, depth: usize) -> Result<String, String> {
    if depth == MAX_DEPTH {
        return Err("its marker has too many parentheses".to_owned());
    }
    if scanner.take("(") {
        let text = any(scanner, depth + 1)?;
        if !scanner.take(")") {
            return Err("a parenthesis of its marker is not closed".to_owned());
        }
        return Ok(format!("({text})"));
    }
    let left = operand(scanner)?;
    let comparison = comparison(scanner)?;
    let right = operand(scanner)?;
    Ok(format!("{left} {comparison} {right}"))
}

fn comparison(scanner: &mut Scanner<'_>) -> Result<&'static str, String> {
    if let Some(comparison) = COMPARISONS.iter().find(|comparison| scanner.take(comparison)) {
        return Ok(comparison);
    }
    if scanner.take_word("in") {
        return Ok("in");
    }
    if scanner.take_word("not") && scanner.take_word("in") {
        return Ok("not in");
    }
    Err("its marker compares nothing: expected `==`, `<`, `in` or another comparison".to_owned())
}

fn operand(scanner: &mut Scanner<'_>) -> Result<String, String> {
    if let Some(text) = scanner.quoted() {
        // pip takes a word with a dash at its front for an option, also within quotes.
        let is_plain = !text.split(' ').any(|word| word.starts_with('-'))
            && text
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || " ._-+*!,:/()".contains(character));
        if !is_plain {
            return Err(format!(
                "its marker holds the text `{}`, which no platform is called",
                text.escape_debug()
            ));
        }
        return Ok(format!("\"{text}\""));
    }
    let variable = VARIABLES.iter().find(|variable| scanner.take_word(variable));
    variable.map(|variable| (*variable).to_owned()).ok_or_else(|| {
        "its marker holds something that is neither a variable of markers nor text in quotes".to_owned()
    })
}
