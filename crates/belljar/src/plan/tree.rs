//! A plan whose jars also show source files of the caller's own.

use belljar_linux::confine::{Allow, Rule};

use super::{Plan, Step};
use crate::tree::{INSIDE, Tree, TreeError};

impl Plan {
    /// This plan with a tree in it.
    pub fn with_tree(mut self, tree: &Tree) -> Result<Self, TreeError> {
        let shown = Step::Tree {
            target: INSIDE.into(),
            digest: tree.digest()?,
            files: tree.files() as u64,
            bytes: tree.bytes(),
        };
        for step in &mut self.steps {
            if let Step::Landlock(rules) = step {
                rules.paths.push(Rule {
                    path: INSIDE.into(),
                    allow: Allow::Read,
                });
            }
        }
        let after = self.steps.iter().position(|step| matches!(step, Step::Root));
        self.steps.insert(after.map_or(0, |root| root + 1), shown);
        Ok(self)
    }
}
