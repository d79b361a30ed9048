//! A plan whose jars also show source files of the caller's own.

use belljar_linux::confine::{Allow, Rule};

use super::{Plan, Step};
use crate::tree::{INSIDE, Tree, TreeError};

impl Plan {
    /// This plan with a tree in it, which counts as memory beside the guest's own.
    pub fn with_tree(mut self, tree: &Tree) -> Result<Self, TreeError> {
        let shown = Step::Tree {
            target: INSIDE.into(),
            digest: tree.digest()?,
            files: tree.files() as u64,
            bytes: tree.bytes(),
        };
        for step in &mut self.steps {
            match step {
                Step::Cgroup { memory, .. } => *memory = memory.saturating_add(tree.bytes()),
                Step::Landlock(rules) => rules.paths.push(Rule {
                    path: INSIDE.into(),
                    allow: Allow::Read,
                }),
                _ => {}
            }
        }
        let after = self.steps.iter().position(|step| matches!(step, Step::Root));
        self.steps.insert(after.map_or(0, |root| root + 1), shown);
        Ok(self)
    }
}
