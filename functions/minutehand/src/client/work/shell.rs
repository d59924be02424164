//! What a shell reads of its command line: its options, and the script that `-c` gives it. A parameter in either would be run.

/// The places of the words that a shell reads itself, whichever word is the shell: it may stand behind `env` or `sudo`.
pub(super) fn own_words(words: &[String]) -> impl Iterator<Item = usize> {
    let shells = words.iter().enumerate().filter(|(_, word)| is_name(word));
    shells.flat_map(|(shell, _)| shell + 1..behind_own(words, shell + 1))
}

/// The first word behind the options, and behind the script where they ask for one.
fn behind_own(words: &[String], first: usize) -> usize {
    let (mut has_script, mut may_be_argument) = (false, false);
    for (place, word) in words.iter().enumerate().skip(first) {
        match word.as_str() {
            "-" | "--" => return words.len().min(place + 1 + usize::from(has_script)),
            option if option.starts_with(['-', '+']) => {
                has_script |= asks_for_a_script(option);
                may_be_argument = takes_an_argument(option);
            }
            _ if may_be_argument => may_be_argument = false,
            _ => return place + usize::from(has_script),
        }
    }
    words.len()
}

/// Alone, among other letters, or by fish's long name.
fn asks_for_a_script(option: &str) -> bool {
    option == "--command" || !option.starts_with("--") && option.starts_with('-') && option.contains('c')
}

/// As `-o pipefail`, `--rcfile FILE` and fish's `-C COMMAND`. Which long options take none is not looked up: what follows is then taken for the
/// shell's own.
fn takes_an_argument(option: &str) -> bool {
    if option.starts_with("--") {
        !option.contains('=') && !asks_for_a_script(option)
    } else {
        option.contains(['o', 'O', 'C'])
    }
}

fn is_name(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    ["sh", "ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "tcsh", "zsh"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_the_script_are_the_shells_own_and_what_follows_is_not() {
        for (line, own) in [
            ("sh -c SCRIPT sh {a}", "-c SCRIPT"),
            ("/bin/bash -lc SCRIPT {a}", "-lc SCRIPT"),
            ("sh -ce SCRIPT", "-ce SCRIPT"),
            ("bash -c -e SCRIPT {a}", "-c -e SCRIPT"),
            ("bash -c -- SCRIPT {a}", "-c -- SCRIPT"),
            ("bash -c -o pipefail SCRIPT {a}", "-c -o pipefail SCRIPT"),
            ("bash -eo pipefail -c SCRIPT {a}", "-eo pipefail -c SCRIPT"),
            ("bash --rcfile FILE -c SCRIPT {a}", "--rcfile FILE -c SCRIPT"),
            ("bash --login -c SCRIPT {a}", "--login -c SCRIPT"),
            ("fish --command SCRIPT {a}", "--command SCRIPT"),
            ("fish --command=SCRIPT {a}", "--command=SCRIPT"),
            ("fish -C COMMAND -c SCRIPT {a}", "-C COMMAND -c SCRIPT"),
            ("fish --init-command COMMAND -c SCRIPT {a}", "--init-command COMMAND -c SCRIPT"),
            ("env -i X=1 sh -c SCRIPT {a}", "-c SCRIPT"),
            ("sudo -u web sh -c SCRIPT sh {a}", "-c SCRIPT"),
            ("sh -c SCRIPT sh bash -c SECOND", "-c SCRIPT -c SECOND"),
            ("sh -c", "-c"),
            ("sh -c --", "-c --"),
            ("bash FILE -c {a}", ""),
            ("sh -e FILE {a}", "-e"),
            ("bash -- FILE -c {a}", "--"),
            ("seq -f {a} {b}", ""),
        ] {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            let found: Vec<_> = own_words(&words).map(|place| words[place].as_str()).collect();
            assert_eq!(found.join(" "), own, "{line}");
        }
    }
}
