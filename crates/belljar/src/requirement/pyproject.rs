//! pyproject.toml: dependencies of the project, its extras (PEP 621) and dependency groups (PEP 735).

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::error::printable;
use super::marker::Marker;
use super::{Allow, Requirement, RequirementError, Requirements, document, name};

/// Reads the text of a file.
pub(super) fn read(text: &str, group: Option<&str>, allow: Allow) -> Result<Requirements, RequirementError> {
    let file = document::parse(text)?;
    let mut reader = Reader::new(&file, allow)?;
    match group {
        None => reader.dependencies(None)?,
        Some(group) => {
            let wanted = name::normalise(group);
            match wanted {
                Some(name) if reader.groups.contains_key(&name) => reader.group(&name)?,
                Some(name) if reader.extras.contains_key(&name) => {
                    reader.dependencies(None)?;
                    reader.extra(&name, None)?;
                }
                _ => {
                    let known = reader.groups.keys().chain(reader.extras.keys());
                    return Err(RequirementError::NoGroup {
                        group: printable(group),
                        known: known.cloned().collect(),
                    });
                }
            }
        }
    }
    let mut all = reader.all;
    if let Some(project) = reader.project {
        document::requires_python(project, "project.requires-python", &mut all)?;
    }
    document::refuse_sources(&file, &all)?;
    Ok(all)
}

/// A group by its normalised name: how its name is written, and what is in it.
type Named<'a> = BTreeMap<String, (&'a str, &'a [Value])>;

struct Reader<'a> {
    project: Option<&'a Table>,
    name: Option<String>,
    extras: Named<'a>,
    groups: Named<'a>,
    allow: Allow,
    all: Requirements,
    /// Groups that are being read, so that a circle is seen.
    within: Vec<String>,
    /// What is read already; a second time would add nothing, and a tower of groups would take for ever.
    done: BTreeSet<(String, Option<Marker>)>,
}

impl<'a> Reader<'a> {
    fn new(file: &'a Table, allow: Allow) -> Result<Self, RequirementError> {
        let project = document::table(file, "project", "project")?;
        let (mut name, mut extras) = (None, Named::new());
        if let Some(project) = project {
            name = document::string(project, "name", "project.name")?.and_then(name::normalise);
            let key = "project.optional-dependencies";
            extras = named(document::table(project, "optional-dependencies", key)?, key)?;
        }
        let key = "dependency-groups";
        Ok(Self {
            project,
            name,
            extras,
            groups: named(document::table(file, key, key)?, key)?,
            allow,
            all: Requirements::default(),
            within: Vec::new(),
            done: BTreeSet::new(),
        })
    }

    /// What the project itself needs, when `marker` holds.
    fn dependencies(&mut self, marker: Option<&Marker>) -> Result<(), RequirementError> {
        let Some(project) = self.project else {
            return Err(RequirementError::Missing {
                key: "[project]".to_owned(),
            });
        };
        self.refuse_dynamic("dependencies")?;
        let list = document::list(project, "dependencies", "project.dependencies")?;
        self.enter(".dependencies", marker, |reader| {
            reader.requirements(list, "project.dependencies", marker)
        })
    }

    /// What one extra of the project adds.
    fn extra(&mut self, name: &str, marker: Option<&Marker>) -> Result<(), RequirementError> {
        self.refuse_dynamic("optional-dependencies")?;
        let Some((written, list)) = self.extras.get(name).copied() else {
            return Err(RequirementError::NoGroup {
                group: name.to_owned(),
                known: self.extras.keys().cloned().collect(),
            });
        };
        let path = format!("project.optional-dependencies.{written}");
        self.enter(&format!("[{name}]"), marker, |reader| {
            reader.requirements(list, &path, marker)
        })
    }

    /// What a dependency group holds, and the groups that it includes.
    fn group(&mut self, name: &str) -> Result<(), RequirementError> {
        let Some((written, list)) = self.groups.get(name).copied() else {
            return Err(RequirementError::NoGroup {
                group: name.to_owned(),
                known: self.groups.keys().cloned().collect(),
            });
        };
        let path = format!("dependency-groups.{written}");
        self.enter(name, None, |reader| {
            for item in list {
                match item {
                    Value::Table(table) => reader.include(table, &path)?,
                    item => reader.requirements(std::slice::from_ref(item), &path, None)?,
                }
            }
            Ok(())
        })
    }

    fn include(&mut self, table: &Table, path: &str) -> Result<(), RequirementError> {
        let include = table.get("include-group").filter(|_| table.len() == 1);
        let name = include.and_then(Value::as_str).and_then(name::normalise);
        let name =
            name.ok_or_else(|| document::kind(path, "a list of strings and { include-group = \"name\" }"))?;
        self.group(&name).map_err(|problem| match problem {
            cycle @ RequirementError::Cycle { .. } => cycle,
            other => other.at(printable(path)),
        })
    }

    fn requirements(
        &mut self,
        list: &[Value],
        path: &str,
        marker: Option<&Marker>,
    ) -> Result<(), RequirementError> {
        document::requirements(list, path, self.allow, |requirement| {
            let also = requirement.marker.iter().chain(marker).cloned();
            let marker = Marker::all(also);
            // A project that names itself means its own dependencies; the index may have another of its name.
            if self.name.as_deref() == Some(requirement.name()) && requirement.url.is_none() {
                return self.itself(&requirement, marker.as_ref());
            }
            self.all.add(Requirement {
                marker,
                ..requirement
            })
        })
    }

    fn itself(&mut self, requirement: &Requirement, marker: Option<&Marker>) -> Result<(), RequirementError> {
        self.dependencies(marker)?;
        for extra in requirement.extras() {
            self.extra(extra, marker)?;
        }
        Ok(())
    }

    /// Reads a group once, and never within itself.
    fn enter(
        &mut self,
        group: &str,
        marker: Option<&Marker>,
        read: impl FnOnce(&mut Self) -> Result<(), RequirementError>,
    ) -> Result<(), RequirementError> {
        if self.within.iter().any(|outer| outer == group) {
            return Err(RequirementError::Cycle {
                group: group.trim_matches(['[', ']', '.']).to_owned(),
            });
        }
        let always = self.done.contains(&(group.to_owned(), None));
        if always || !self.done.insert((group.to_owned(), marker.cloned())) {
            return Ok(());
        }
        self.within.push(group.to_owned());
        read(self)?;
        self.within.pop();
        Ok(())
    }

    fn refuse_dynamic(&self, key: &'static str) -> Result<(), RequirementError> {
        let dynamic = self.project.map_or(Ok(&[][..]), |project| {
            document::list(project, "dynamic", "project.dynamic")
        })?;
        match dynamic.iter().any(|item| item.as_str() == Some(key)) {
            true => Err(RequirementError::Dynamic { key }),
            false => Ok(()),
        }
    }
}

/// Groups by their normalised names, of which there may be no two alike.
fn named<'a>(table: Option<&'a Table>, path: &str) -> Result<Named<'a>, RequirementError> {
    let mut groups = Named::new();
    for (written, value) in table.into_iter().flatten() {
        let key = format!("{path}.{written}");
        let name = name::normalise(written)
            .ok_or_else(|| document::kind(&key, "named with letters, digits and ._-"))?;
        let list = value.as_array().ok_or_else(|| document::kind(&key, "a list"))?;
        if groups.insert(name.clone(), (written, list)).is_some() {
            return Err(RequirementError::TwoGroups { group: name });
        }
    }
    Ok(groups)
}
