//! Roles: a set of toolsets and permissions under one name.

use crate::{Permission, Permissions, RoleName, Toolset, Toolsets};

/// What a caller of this role sees and may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// What the role is called.
    pub name: RoleName,
    /// The toolsets that `/mcp` shows it.
    pub toolsets: Toolsets,
    /// What it may do.
    pub permissions: Permissions,
}

impl Role {
    /// The role of somebody who was given none.
    pub const DEFAULT: &'static str = "dev";

    /// The roles that every installation has. An administrator's own ones are rows in
    /// the database; these are code, so that a new toolset reaches them with the
    /// release that brings it.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        use Permission::{
            AgentRun, AgentSpawn, AlertManage, DeployPromote, DeployRead, ObserveRead, ObserveWrite,
            ProjectRead, ProjectWrite, SecretRead,
        };
        let (toolsets, permissions): (Toolsets, Permissions) = match name {
            "dev" => (
                Toolsets::of(&[
                    Toolset::Git,
                    Toolset::Workspace,
                    Toolset::Build,
                    Toolset::Exec,
                    Toolset::Sandbox,
                    Toolset::Core,
                ]),
                [ProjectRead, ProjectWrite, AgentRun, SecretRead]
                    .into_iter()
                    .collect(),
            ),
            "ops" => (
                Toolsets::of(&[Toolset::Git, Toolset::Workspace, Toolset::Core]),
                [
                    ProjectRead,
                    DeployRead,
                    DeployPromote,
                    ObserveRead,
                    ObserveWrite,
                    AlertManage,
                    SecretRead,
                ]
                .into_iter()
                .collect(),
            ),
            "ui" => (
                Toolsets::of(&[Toolset::Git, Toolset::Workspace, Toolset::Build, Toolset::Core]),
                [ProjectRead, ProjectWrite, AgentRun, AgentSpawn]
                    .into_iter()
                    .collect(),
            ),
            "admin" => (Toolsets::ALL, Permissions::ALL),
            _ => return None,
        };
        Some(Self {
            name: name.parse().ok()?,
            toolsets,
            permissions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_administrator_administers() {
        for name in ["dev", "ops", "ui"] {
            let role = Role::built_in(name).unwrap();
            assert!(!role.toolsets.contains(Toolset::Admin), "{name}");
            assert!(!role.permissions.contains(Permission::AdminUsers), "{name}");
        }
        assert_eq!(Role::built_in("admin").unwrap().permissions, Permissions::ALL);
        assert_eq!(Role::built_in("root"), None);
    }
}
