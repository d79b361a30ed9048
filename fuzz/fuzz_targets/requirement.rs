//! Requirements and the files that hold them: any text is a set of them or an error that says why; what is written is one
//! line each of printable ASCII, and reads back as the same set.
#![no_main]

use belljar::requirement::{Allow, Requirement, RequirementError, Requirements};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for (builds, urls) in [(false, false), (false, true), (true, true)] {
        let allow = Allow { builds, urls };
        if let Ok(one) = Requirement::parse(text, allow) {
            assert_eq!(
                Requirement::parse(&one.to_string(), allow).ok().as_ref(),
                Some(&one),
                "{one}"
            );
        }
        check(Requirements::from_list([text], allow), allow);
        check(Requirements::requirements_txt(text, allow), allow);
        check(Requirements::pyproject(text, None, allow), allow);
        check(Requirements::pyproject(text, Some("a"), allow), allow);
        check(Requirements::pylock(text, allow), allow);
        check(
            Requirements::script(text, allow).map(Option::unwrap_or_default),
            allow,
        );
    }
});

fn check(read: Result<Requirements, RequirementError>, allow: Allow) {
    match read {
        Ok(all) => {
            for line in all.lines() {
                assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
                assert!(
                    line.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit()),
                    "{line}"
                );
                assert!(!line.contains(['$', '`', '\\', '|', '&', '{']), "{line}");
            }
            let again = Requirements::from_list(all.lines(), allow);
            assert!(again.is_ok_and(|again| again.iter().eq(all.iter())), "{all}");
            let file = Requirements::requirements_txt(&all.to_string(), allow);
            assert!(file.is_ok_and(|file| file.iter().eq(all.iter())), "{all}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
