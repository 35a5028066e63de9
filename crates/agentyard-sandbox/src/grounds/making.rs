//! Making sandboxes and snapshots of layers, and knowing which layers are still of use.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::layout::{self, Layout};
use super::record::Record;
use super::{CopyWay, GroundsError, exists, unknown};
use crate::command::Mount;

/// How many layers lie over each other at most; a snapshot of a sandbox on more is a copy of everything. More would not
/// fit into one option of the kernel's.
const MAX_LAYERS: usize = 12;

/// The grounds of one process.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) layout: Layout,
    pub(super) way: CopyWay,
    /// Layers that somebody works with and no record may name yet. Whoever looks for unused ones holds this.
    claims: Mutex<Vec<String>>,
}

/// Layers that are not removed for as long as this is held.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    inner: &'a Inner,
    layers: Vec<String>,
}

impl Inner {
    pub(super) fn new(layout: Layout, way: CopyWay) -> Self {
        Self {
            layout,
            way,
            claims: Mutex::default(),
        }
    }

    pub(super) fn prepare(&self, id: &str, from: Option<&str>) -> Result<Vec<Mount>, GroundsError> {
        let layout = &self.layout;
        if let Some(record) = layout.record(layout::SANDBOXES, id)? {
            return layout.mounts(id, &record);
        }
        let mut bytes = 0;
        let below = self.claim(|| match from {
            Some(from) => {
                let snapshot = layout.record(layout::SNAPSHOTS, from)?;
                let snapshot = snapshot.ok_or_else(|| unknown("snapshot", from))?;
                bytes = snapshot.bytes;
                Ok(snapshot.layers)
            }
            None => Ok(Vec::new()),
        })?;
        let is_layered = self.way == CopyWay::Layered;
        let record = if is_layered {
            Record {
                way: self.way,
                layers: below.layers.clone(),
                bytes,
            }
        } else {
            Record {
                way: self.way,
                ..Record::default()
            }
        };
        let made = layout.make(|place| {
            if is_layered || below.layers.is_empty() {
                layout.make_directories(place)?;
            } else {
                layout.copy_merged(&below.layers, place)?;
            }
            if !record.layers.is_empty() {
                layout.make_view_directories(place)?;
            }
            record.write(place)
        })?;
        layout.show(made, layout::SANDBOXES, id, "sandbox")?;
        layout.mounts(id, &record)
    }

    pub(super) fn snapshot(&self, id: &str, snapshot: &str) -> Result<(), GroundsError> {
        let layout = &self.layout;
        let record = layout
            .record(layout::SANDBOXES, id)?
            .ok_or_else(|| unknown("sandbox", id))?;
        if layout.record(layout::SNAPSHOTS, snapshot)?.is_some() {
            return Err(exists("snapshot", snapshot));
        }
        let _kept = self.claim(|| {
            let mut layers = record.layers.clone();
            layers.push(snapshot.to_owned());
            Ok(layers)
        })?;
        let sandbox = layout.path(layout::SANDBOXES, id)?;
        let is_flat = record.layers.len() >= MAX_LAYERS;
        let layer = layout.make(|place| {
            if is_flat {
                layout.copy_view(&sandbox, &record.layers, place)
            } else {
                layout.copy_own(&sandbox, !record.layers.is_empty(), place)
            }
        })?;
        let mut bytes = layout.bytes_in(&layer)?;
        layout.show(layer, layout::LAYERS, snapshot, "snapshot")?;
        let mut layers = vec![snapshot.to_owned()];
        if !is_flat {
            layers.extend(record.layers);
            bytes = bytes.saturating_add(record.bytes);
        }
        let kept = Record {
            way: self.way,
            layers,
            bytes,
        };
        let made = layout.make(|place| kept.write(place))?;
        layout.show(made, layout::SNAPSHOTS, snapshot, "snapshot")
    }

    /// Removes the layers that no record names and nobody claims. As long as a record cannot be read, nobody knows.
    pub(super) fn remove_unused_layers(&self) -> Result<(), GroundsError> {
        let layout = &self.layout;
        let unused = {
            let claims = self.claims();
            let mut used = claims.clone();
            for kind in [layout::SANDBOXES, layout::SNAPSHOTS] {
                for id in layout.names(kind)? {
                    match layout.record(kind, &id) {
                        Ok(record) => used.extend(record.unwrap_or_default().layers),
                        Err(_) => return Ok(()),
                    }
                }
            }
            let mut unused = layout.names(layout::LAYERS)?;
            unused.retain(|layer| !used.contains(layer));
            let aside = unused.iter().map(|layer| layout.put_aside(layout::LAYERS, layer));
            aside.collect::<Result<Vec<_>, _>>()?
        };
        unused
            .into_iter()
            .flatten()
            .try_for_each(|path| layout.erase(&path))
    }

    /// Keeps layers from being removed, as they are named at this moment.
    pub(super) fn claim(
        &self,
        named: impl FnOnce() -> Result<Vec<String>, GroundsError>,
    ) -> Result<Claim<'_>, GroundsError> {
        let mut claims = self.claims();
        let layers = named()?;
        claims.extend(layers.iter().cloned());
        Ok(Claim { inner: self, layers })
    }

    fn claims(&self) -> MutexGuard<'_, Vec<String>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut claims = self.inner.claims();
        for layer in &self.layers {
            if let Some(place) = claims.iter().position(|claimed| claimed == layer) {
                claims.swap_remove(place);
            }
        }
    }
}
