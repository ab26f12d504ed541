// The fields that containers and their snapshots show alike.
import type { Snapshot } from '../../api/container/snapshot.ts';
import type { ContainerDocument, SnapshotDocument } from '../../records/documents.ts';
import type { Expanded } from '../expand.ts';

type Shown = Omit<Snapshot, 'name' | 'description' | 'expires_at'>;

export const renderFields = (document: ContainerDocument | SnapshotDocument, expanded: Expanded): Shown => ({
  architecture: document.architecture,
  profiles: [...document.profiles],
  ephemeral: document.ephemeral,
  config: document.config,
  devices: document.devices,
  expanded_config: expanded.config,
  expanded_devices: expanded.devices,
  created_at: document.createdAt,
  last_used_at: document.lastUsedAt,
  stateful: document.stateful,
});
