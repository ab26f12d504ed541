// Copies containers of another member, by a migration between the two members without a client in between.
import type { ServiceParts } from '../shared/service-parts.ts';
import { isWithoutSnapshots, type ContainerCreate } from '../../api/container/container.ts';
import { architectureName } from '../../api/image/architectures.ts';
import { errors } from '../../api/errors.ts';
import type { Operation } from '../../api/operation.ts';
import { plainName, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import type { Member } from '../../membership/members.ts';
import type { SnapshotDocument } from '../../records/documents.ts';
import { ownedName } from '../../records/record-names.ts';
import type { Caller } from '../shared/caller.ts';
import { copyBase } from '../containers/create/copy.ts';
import { snapshotKey } from '../containers/shared/snapshot-records.ts';
import { replaceConfig, replaceDevices } from '../shared/patch.ts';
import { needProject } from '../shared/project-scope.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface MemberCopiesDeps extends Pick<ServiceParts, 'records' | 'cluster'> {
  /** The cluster's certificate, PEM. */
  readonly certificate: () => string;
}

export class MemberCopies {
  readonly #deps: MemberCopiesDeps;

  constructor(deps: MemberCopiesDeps) {
    this.#deps = deps;
  }

  /** Turns the copy of another member's container into a migration from there, which waits for this member; leaves any other creation
   *  unchanged. Throws the other member's refusal. */
  async creationHere(caller: Caller, body: ContainerCreate): Promise<ContainerCreate> {
    const { records, cluster } = this.#deps;
    if (!cluster.isOn || body.source.type !== 'copy') return body;
    const [asked = '', snapshot] = (body.source.source ?? '').split('/');
    const name = qualifiedName(needProject(records, body.source.project || caller.project), asked);
    if (records.containers.has(name)) return body;
    const found = records.others.get('containers', name);
    const member = found === undefined ? undefined : cluster.members.byNumber(found.member);
    if (found === undefined || member === undefined) return body;
    const origin =
      snapshot === undefined ? found.document : this.#snapshot(member, snapshotKey(found.document.uuid, snapshot));
    const base = copyBase(origin);
    const wanted = {
      ...body,
      architecture: architectureName(body.architecture ?? '') ?? base.architecture,
      profiles: [...(body.profiles ?? base.profiles)],
      config: { ...base.config, ...replaceConfig(body.config) },
      devices: { ...base.devices, ...replaceDevices(body.devices) },
      ephemeral: body.ephemeral ?? false,
      description: body.description ?? '',
    };
    if (records.isContainerName(qualifiedName(caller.project, body.name ?? '')) && body.source.refresh !== true)
      throw errors.exists('container', body.name ?? '');
    return { ...wanted, source: await this.#sent(member, name, snapshot, body.source) };
  }

  #snapshot(member: Member, key: string): SnapshotDocument {
    const found = this.#deps.records.others.having('snapshots', key).find((entry) => entry.member === member.number);
    if (found === undefined) throw errors.notFound('snapshot', ownedName(key).name);
    return found.document;
  }

  /** The other member offers it, and waits. */
  async #sent(
    member: Member,
    name: string,
    snapshot: string | undefined,
    source: ContainerCreate['source'],
  ): Promise<ContainerCreate['source']> {
    const { cluster, certificate } = this.#deps;
    const isAlone = isWithoutSnapshots(source) || snapshot !== undefined;
    const parts = snapshot === undefined ? [] : ['snapshots', encodeURIComponent(snapshot)];
    const path = ['/1.0/containers', encodeURIComponent(plainName(name)), ...parts].join('/');
    const operation = await cluster.ask<Operation>(
      member,
      'POST',
      `${path}?project=${encodeURIComponent(projectOf(name))}`,
      { name: snapshot ?? plainName(name), migration: true, live: false, container_only: isAlone },
    );
    const { control = '', fs = '' } = (operation.metadata ?? {}) as Readonly<Record<string, string>>;
    return {
      type: 'migration',
      mode: 'pull',
      operation: `https://${member.address}/1.0/operations/${operation.id}`,
      certificate: certificate(),
      secrets: { control, fs },
      live: false,
      container_only: isAlone,
      ...withoutUndefined({ refresh: source.refresh }),
    };
  }
}
