//! A netrc, cut down to the hosts that packages come from: a build has no business with the others.

/// The entries for these hosts, as a netrc of their own.
pub(super) fn only(text: &str, hosts: &[String]) -> String {
    let (mut kept, mut entry) = (String::new(), None::<(String, Vec<&str>)>);
    let mut finish = |entry: Option<(String, Vec<&str>)>| {
        if let Some((machine, words)) = entry
            && hosts.contains(&machine)
        {
            kept.push_str(&format!("machine {machine} {}\n", words.join(" ")));
        }
    };
    let mut words = text.lines().flat_map(|line| {
        // A comment is a word that begins with a hash sign where a keyword would stand; passwords may have one inside.
        let comment = line.trim_start().starts_with('#');
        (if comment { "" } else { line }).split_whitespace()
    });
    while let Some(word) = words.next() {
        match word {
            "machine" => finish(entry.replace((words.next().unwrap_or_default().to_owned(), Vec::new()))),
            // Whatever host: that is exactly what a build shall not have.
            "default" => finish(entry.take()),
            "login" | "user" | "account" | "password" => {
                let value = words.next().unwrap_or_default();
                if let Some((_, kept)) = &mut entry {
                    kept.extend([word, value]);
                }
            }
            "macdef" => {
                finish(entry.take());
                // A macro goes on to the next empty line; nothing after it is taken.
                break;
            }
            _ => {}
        }
    }
    finish(entry);
    kept
}

#[cfg(test)]
mod tests {
    use super::only;

    #[test]
    fn only_named_hosts_are_kept() {
        let text = "# mine\nmachine a.example login x password p#1\nmachine b.example\n  login y\n  password q\ndefault login z password s\n";
        let hosts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            only(text, &hosts(&["a.example"])),
            "machine a.example login x password p#1\n"
        );
        assert_eq!(
            only(text, &hosts(&["b.example"])),
            "machine b.example login y password q\n"
        );
        assert_eq!(only(text, &hosts(&["c.example"])), "");
    }
}
