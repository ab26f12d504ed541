// The provider: its settings, and the tables of its resources, data sources and functions.
import { explain } from './connection/explain-errors.ts';
import { openLink } from './connection/connect.ts';
import type { Link } from './connection/link.ts';
import { readRemotes, remotesAttribute } from './connection/remotes.ts';
import { readSettings, settingsAttributes, settingsProblems } from './connection/settings.ts';
import { DiagnosticError, hasErrors } from './framework/diagnostic.ts';
import type { AnyProvider, Provider } from './framework/provider.ts';
import { containerExecAction } from './actions/container-exec.ts';
import { containerRestart } from './actions/container-restart.ts';
import { snapshotRestore } from './actions/snapshot-restore.ts';
import { containerData, containersData } from './datasources/containers.ts';
import {
  imageData,
  networkAclData,
  networkData,
  networkLeasesData,
  profileData,
  projectData,
  storagePoolData,
} from './datasources/objects.ts';
import { certificateData, storageVolumeData } from './datasources/volumes-and-certificates.ts';
import { clusterData, resourcesData, serverData } from './datasources/server.ts';
import { containerExecEphemeral } from './ephemeral/container-exec.ts';
import { containerFileEphemeral } from './ephemeral/container-file.ts';
import { functions } from './functions/functions.ts';
import { movedState } from './moving/other-providers.ts';
import { certificate } from './resources/certificate.ts';
import { clusterMember } from './resources/cluster-member.ts';
import { container } from './resources/container/container.ts';
import { containerExec } from './resources/container/container-exec-resource.ts';
import { containerFile } from './resources/container/container-file-resource.ts';
import { containerDevice } from './resources/container/container-device.ts';
import { image } from './resources/image/image.ts';
import { imageAlias } from './resources/image/image-alias.ts';
import { networkAcl } from './resources/network-acl.ts';
import { network } from './resources/network.ts';
import { profile } from './resources/profile.ts';
import { project } from './resources/project.ts';
import { serverConfig } from './resources/server-config.ts';
import { snapshot } from './resources/container/snapshot.ts';
import { storagePool } from './resources/storage/storage-pool.ts';
import { storageVolume } from './resources/storage/storage-volume.ts';
import { volumeSnapshot } from './resources/storage/volume-snapshot.ts';
import type { Log } from './wire/log.ts';

/** Its address in registries and mirrors. */
export const providerSource = 'registry.terraform.io/gantry/gantry';

const providerAttributes = { ...settingsAttributes, remotes: remotesAttribute };

export interface GantryDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

export function gantryProvider({ env, log }: GantryDeps): AnyProvider<Link> {
  const definition: Provider<typeof providerAttributes, Link> = {
    name: 'gantry',
    doc: 'Manages Linux system containers, profiles, networks, storage and images on a gantryd or LXD server.',
    attributes: providerAttributes,
    async configure(config, add, signal) {
      const read = readSettings(config, env);
      log('info', `provider settings: ${read.sources.join(', ') || 'none'}`);
      const others = readRemotes(config.remotes);
      const problems = [...settingsProblems(read), ...others.problems];
      if (hasErrors(problems)) throw new DiagnosticError(problems);
      for (const problem of problems) add(problem);
      // An unknown setting may decide the identity of this client.
      return read.unknown.length > 0 || others.isUnknown ? undefined : openLink(read, others.remotes, signal);
    },
    resources: [
      certificate,
      clusterMember,
      container,
      containerDevice,
      containerExec,
      containerFile,
      image,
      imageAlias,
      network,
      networkAcl,
      profile,
      project,
      serverConfig,
      snapshot,
      storagePool,
      storageVolume,
      volumeSnapshot,
    ],
    dataSources: [
      certificateData,
      clusterData,
      containerData,
      containersData,
      imageData,
      networkAclData,
      networkData,
      networkLeasesData,
      profileData,
      projectData,
      resourcesData,
      serverData,
      storagePoolData,
      storageVolumeData,
    ],
    functions,
    ephemeralResources: [containerExecEphemeral, containerFileEphemeral],
    actions: [containerRestart, containerExecAction, snapshotRestore],
    move: movedState,
    explain,
  };
  return definition;
}
