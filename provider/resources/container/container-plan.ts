// Completes a plan of a container beyond its attributes: differing files, restarts, replacement, values that stay known.
import { effectOfContainerKey } from '../../../server/api/container/container-config.ts';
import type { Link } from '../../connection/link.ts';
import { failure, warning } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import type { PlanHook } from '../../framework/provider.ts';
import { equalValues, isMap, isUnknown, isWhollyKnown, unknownValue, type Value } from '../../framework/value.ts';
import type { ContainerAttributes, ContainerState, Source } from './container-attributes.ts';
import { areCommandsOwed } from './container-commands.ts';
import { wantedHash } from './container-files.ts';
import { baseImageOf, isMissing, isSameSource, mayBeOrigin } from './same-source.ts';
import { declaredTwice, twiceProblem } from '../shared/separate-devices.ts';
import { inDevices, strayAddresses } from '../shared/static-addresses.ts';
import { rawLxcFailures } from '../shared/raw-lxc.ts';
import { planTarget } from './container-place.ts';
import { isUp } from '../../../server/client/facts/containers.ts';
import { costOf, wholeConfig, type Cost } from './container-state.ts';
import { withBackupHash } from './backup-file.ts';

type Hook = PlanHook<ContainerAttributes, Link>;

export async function planContainer(hook: Hook): Promise<void> {
  const { prior, planned, config, differs } = hook;
  for (const found of rawLxcFailures(planned.config, prior?.config ?? null, hook.client)) hook.add(found);
  const nics = { devices: planned.devices as Value, prior: prior?.devices ?? null, pathOf: inDevices };
  for (const found of await strayAddresses(hook.client, nics)) hook.add(found);
  await planFiles(hook);
  const moves = await planTarget(hook);
  if (config.source !== null)
    planned.source = (await withBackupHash(planned.source, prior?.source ?? null)) as typeof planned.source;
  if (prior === null) return;
  if (config.source === null) planned.source = prior.source;
  else await planSource(hook, prior);
  await planDevices(hook, prior);
  const cost = plannedCost(hook, prior);
  if (cost?.effect === 'recreate') {
    hook.replace(at('devices'));
    return;
  }
  const isRenamed = planned.name !== prior.name;
  const stopped = [...(isRenamed ? ['name'] : []), ...(moves ? ['target'] : [])];
  // The server deletes an ephemeral container when it stops, as for a rename or a move.
  if (planned.ephemeral === true && isUp(prior.status ?? ''))
    for (const cause of [...stopped, ...(planned.running === false ? ['running'] : [])]) hook.replace(at(cause));
  const causes = [...stopped, ...(cost?.effect === 'restart' ? cost.causes : []), ...secretCauses(hook, prior)];
  const isOwed = planOwedRestart(hook, prior, causes.length > 0);
  const restarts = prior.running === true && planned.running !== false && (causes.length > 0 || isOwed);
  if (restarts) planRestart(hook, prior, isOwed ? [...causes, 'an earlier change'] : causes);
  if (restarts && !differs) for (const name of changedByStart) planned[name] = unknownValue;
  const runs = prior.status === 'Running' && planned.running !== false;
  if (differs || restarts || (runs && areCommandsOwed(prior.exec, hook.privateData))) {
    // What is known only after apply may restart or move it, too.
    const mayStart = restarts || moves || cost === undefined || isUnknown(planned.target);
    if (planned.running !== false) planCommands(hook, prior, mayStart);
    keepUntouched(hook, prior, mayStart);
  }
  // A frozen container is neither stopped nor running.
  if (prior.status === 'Frozen' && planned.running === false) planned.status = unknownValue;
}

const changedByStart = ['status', 'ipv4_address', 'ipv6_address', 'mac_address', 'interfaces'] as const;

/** Whether the restart that an earlier change needs is part of the plan. */
function planOwedRestart({ planned, add }: Hook, prior: ContainerState, hasOtherCauses: boolean): boolean {
  if (prior.restart_pending !== true) return false;
  if (planned.allow_restart === false && planned.running !== false && !hasOtherCauses) {
    const detail = 'An earlier change will take effect at its next start, since allow_restart is false.';
    add(warning(`The container ${prior.name} runs without an earlier change`, detail));
    return false;
  }
  planned.restart_pending = false;
  return true;
}

/** Devices that the container adds may exist already as separate resources, which its state does not show. */
async function planDevices({ planned, client, add }: Hook, prior: ContainerState): Promise<void> {
  const devices = planned.devices as Value;
  // During an apply, the write itself checks.
  if (client === undefined || client.activity.hasWritten || !isMap(devices)) return;
  if (Object.keys(devices).every((name) => Object.hasOwn(prior.devices ?? {}, name))) return;
  const { metadata: live } = await client.client.get('container', prior.name);
  const declared = Object.fromEntries(Object.keys(devices).map((name) => [name, {}]));
  for (const name of declaredTwice(live, declared)) add(twiceProblem(prior.name, name));
}

/** Values that a change cannot affect stay known: other resources may depend on them. */
function keepUntouched({ planned }: Hook, prior: ContainerState, mayStart: boolean): void {
  const isSame = (name: keyof ContainerState): boolean => equalValues(prior[name] ?? null, planned[name] ?? null);
  const keep = (names: readonly (keyof ContainerState)[]): void => {
    for (const name of names) planned[name] = prior[name] as never;
  };
  if (!isSame('profiles')) return;
  if (isSame('config') && isSame('snapshots')) keep(['expanded_config']);
  if (isSame('devices')) keep(['expanded_devices']);
  if (!isSame('running') || mayStart) return;
  keep(['status']);
  if (isSame('devices')) keep(['ipv4_address', 'ipv6_address', 'mac_address', 'interfaces']);
}

function plannedCost({ planned }: Hook, prior: ContainerState): Cost | undefined {
  const [config, devices, snapshots] = [planned.config, planned.devices, planned.snapshots];
  const isKnown = [config, devices, snapshots].every((value) => isWhollyKnown((value ?? null) as Value));
  if (!isKnown) return undefined;
  const wanted = { config, snapshots } as Pick<ContainerState, 'config' | 'snapshots'>;
  return costOf(
    { config: wholeConfig(prior) ?? {}, devices: prior.devices ?? {} },
    { config: wholeConfig(wanted) ?? {}, devices: (devices ?? {}) as NonNullable<ContainerState['devices']> },
  );
}

/** Keys of `config_wo` that are written again and take effect at a start. */
function secretCauses({ planned, config }: Hook, prior: ContainerState): readonly string[] {
  const secret = config.config_wo as Value;
  if (planned.config_wo_version === prior.config_wo_version || !isMap(secret)) return [];
  return Object.keys(secret)
    .filter((key) => effectOfContainerKey(key) === 'restart')
    .map((key) => `config_wo[${JSON.stringify(key)}]`);
}

function planRestart({ planned, add }: Hook, prior: ContainerState, causes: readonly string[]): void {
  const { name } = prior;
  const keys = causes.filter((cause) => cause !== 'name' && cause !== 'target');
  const takes = `${keys.join(', ')} ${keys.length === 1 ? 'takes' : 'take'} effect at a start`;
  const rename = causes.includes('name') ? ['a running container cannot be renamed'] : [];
  const move = causes.includes('target')
    ? [`a running container cannot move, and its target is no longer ${prior.location ?? ''}`]
    : [];
  const what = [...rename, ...move, ...(keys.length === 0 ? [] : [takes])].join(', and ').replace(/^a/, 'A');
  if (planned.allow_restart === false) {
    const detail = `${what}, and allow_restart is false. Set it to true, set running to false, or revert the change.`;
    add(failure(`The container ${name} would have to restart`, detail, at('allow_restart')));
    return;
  }
  add(warning(`The container ${name} will be restarted`, `${what}.`));
}

/** Results of a command are unknown until it ran: after each start, and when it could not run before. */
function planCommands({ planned, config }: Hook, prior: ContainerState, mayRestart: boolean): void {
  if (!isMap(planned.exec) || !isMap(config.exec)) return;
  // Other profiles may cause a restart.
  const mayStart = mayRestart || prior.running !== true || !equalValues(prior.profiles, planned.profiles);
  const results = { exit_code: unknownValue, stdout: unknownValue, stderr: unknownValue };
  const entries = Object.entries(planned.exec as Readonly<Record<string, Readonly<Record<string, Value>>>>);
  const again = entries.map(([key, spec]) => {
    const runs = spec['enabled'] !== false && ((mayStart && spec['on'] === 'start') || spec['exit_code'] === null);
    return [key, runs ? { ...spec, ...results } : spec] as const;
  });
  planned.exec = Object.fromEntries(again) as typeof planned.exec;
}

/** Another source replaces the container, unless it is the same source by another name, or does not exist before the apply. */
async function planSource({ planned, replace, client, add, isImported }: Hook, prior: ContainerState): Promise<void> {
  const after = planned.source as Value;
  if (after === null || equalValues(prior.source, after)) return;
  const { name } = prior;
  const keep = (): void => {
    const detail = `Its original source is unknown, so the state takes the new source and nothing else changes. To create the container again, use terraform apply -replace.`;
    add(warning(`The container ${name} stays as it is`, detail));
  };
  if (prior.source === null) return keep();
  // During an apply the plan stays unchanged; checkSource checks it.
  if (client?.activity.hasWritten === true) return;
  if (client !== undefined && isMap(after) && isWhollyKnown(after)) {
    const wanted = after as unknown as Source;
    if (await isSameSource(prior.source, wanted, client, baseImageOf(client, name))) return;
    if (isImported && mayBeOrigin(prior.source, wanted)) return keep();
    // An alias or a container may get this name in the same apply, which checks whether it is the former source.
    if (prior.source.type === wanted.type && (await isMissing(wanted, client))) return;
    // The apply compares it: an import must not destroy the container because nobody knows its source yet.
  } else if (isImported) return keep();
  replace(at('source'));
}

/** Plans the hash of the new content, which differs from the live hash if either side changed the file. */
async function planFiles({ planned, prior }: Hook): Promise<void> {
  const files = planned.files as Value;
  if (!isMap(files)) return;
  const next: Record<string, Value> = {};
  for (const [path, file] of Object.entries(files)) {
    if (!isMap(file)) next[path] = file;
    else {
      const sha256 = await wantedHash({ content: file['content'], source: file['source'] });
      next[path] = { ...file, sha256: sha256 ?? unknownValue };
    }
  }
  const before = (prior?.files ?? null) as Value;
  planned.files = (equalValues(before, next) ? before : next) as typeof planned.files;
}
