//! The tasks that makefiles and justfiles define, found without running anything: what only a program would find out
//! (computed names, included files, patterns) is left out.

/// The targets of a makefile, in its order.
pub(super) fn make_targets(content: &str) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    let mut in_definition = false;
    let mut continued = false;
    for line in content.lines() {
        let is_continuation = std::mem::replace(&mut continued, line.ends_with('\\'));
        let first = line.split_whitespace().next();
        match first {
            Some("define") => in_definition = true,
            Some("endef") => in_definition = false,
            _ => {}
        }
        if in_definition || is_continuation || line.starts_with(['\t', '#', ' ']) {
            continue;
        }
        let names = names_before_colon(line).filter(|names| !names.contains('='));
        for target in names.unwrap_or_default().split_whitespace() {
            let is_plain = !target.starts_with('.') && target.chars().all(is_plain);
            if is_plain && !targets.iter().any(|known| known == target) {
                targets.push(target.to_owned());
            }
        }
    }
    targets
}

/// The recipes of a justfile, in its order.
pub(super) fn just_recipes(content: &str) -> Vec<String> {
    content
        .lines()
        .filter(|line| !line.starts_with([' ', '\t', '#', '[']))
        .filter_map(names_before_colon)
        .filter_map(|names| names.split_whitespace().next())
        .map(|name| name.trim_start_matches('@'))
        .filter(|name| !name.is_empty() && !name.starts_with('_') && name.chars().all(is_plain))
        .map(ToOwned::to_owned)
        .collect()
}

/// What stands before the colon of a rule; nothing when the line is an assignment.
fn names_before_colon(line: &str) -> Option<&str> {
    let (names, rest) = line.split_once(':')?;
    let is_assignment = rest.trim_start_matches(':').starts_with('=');
    (!is_assignment).then_some(names)
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '+' | '@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_what_a_rule_begins_with() {
        let makefile = "CC := gcc\nVERSION = a:b\nX ::= y\n.PHONY: all test\nall: build test ## everything\n\t@echo x: y\n\
                        build test: dep\n$(OUT)/x: y\n%.o: %.c\nlong: a \\\n  b: c\ndefine D\nno: x\nendef\nall: again\n\
                        # comment: x\nbin/app: main.c\nurl::\n\t:\n";
        assert_eq!(
            make_targets(makefile),
            ["all", "build", "test", "long", "bin/app", "url"]
        );
    }

    #[test]
    fn recipes_are_what_just_lists() {
        let justfile = "set shell := [\"sh\"]\nversion := \"1\"\n# build it\nbuild target='x': dep\n    cargo build\n\
                        @quiet:\n    echo\n_hidden:\n    echo\n[private]\ntest:\n";
        assert_eq!(just_recipes(justfile), ["build", "quiet", "test"]);
    }
}
