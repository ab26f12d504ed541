// Starts a controller from its config: reads the hosts file, opens the sources, and starts the engine.
import { resolve } from 'node:path';
import type { Diagnostic } from '../core/documents/diagnostic.ts';
import { matchesHost, unknownNameIn } from '../core/documents/host-pattern.ts';
import { wrong, type Finding } from '../manifest/text/finding.ts';
import { readHostsFile, type Host } from '../manifest/hosts-file.ts';
import type { ControllerConfig } from './config/config.ts';
import { Engine } from './engine.ts';
import { GeneratedSets } from './generators/generated-sets.ts';
import type { Hub } from './hub.ts';
import type { Notifier } from './notify/notice.ts';
import { createNotifier } from './notify/notifier.ts';
import { digestSealIn } from './sets/digest-key.ts';
import { identityIn } from './sets/identity.ts';
import { openSource } from './sources/open-source.ts';

export interface StartResult {
  readonly engine?: Engine;
  /** Nothing was started if there are errors. */
  readonly diagnostics: readonly Diagnostic[];
}

/** The hosts of a config, or errors. */
export async function hostsFor(
  config: ControllerConfig,
): Promise<{ readonly hosts?: readonly Host[]; readonly diagnostics: readonly Diagnostic[] }> {
  const { hosts, diagnostics } = await readHostsFile(config.hostsFile, new Map());
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const strange = config.sets.flatMap(({ name, hosts: patterns }, at) =>
    patterns.flatMap((pattern, index) => {
      const unknown = unknownNameIn(pattern, hosts);
      const isEmpty = unknown === undefined && !hosts.some((host) => matchesHost(pattern, host));
      const message =
        unknown ??
        (isEmpty ? 'no host of the hosts file has these labels: give them to one, or select others' : undefined);
      return message === undefined ? [] : setProblem(config, name, `sets.${at}.hosts.${index}`, message);
    }),
  );
  if (errors.length > 0) return { diagnostics: diagnostics.map((one) => aboutFile(one, config)) };
  if (strange.length > 0) return { diagnostics: [...diagnostics, ...strange] };
  return { hosts, diagnostics };
}

export async function startEngine(config: ControllerConfig, hub: Hub): Promise<StartResult> {
  const { hosts, diagnostics } = await hostsFor(config);
  if (hosts === undefined) return { diagnostics };
  const context = {
    stateDir: config.stateDir,
    absolute: (path: string) => resolve(config.folder, path),
    now: () => new Date().toISOString(),
  };
  const generated = new GeneratedSets(config.stateDir);
  await generated.load();
  const completed = generated.complete(config, hosts);
  if (completed.findings.length > 0) return { diagnostics: [...diagnostics, ...placed(config, completed.findings)] };
  const { seal, problem } = await digestSealIn(config.stateKey);
  if (problem !== undefined)
    hub.log('warn', `${problem}: name a place for controller.stateKey, or each start compares all hosts again`);
  const engine = new Engine({
    config: completed.config,
    identity: await identityIn(config.stateDir),
    seal,
    hosts,
    generated,
    completed,
    open: (entry) => openSource(entry, context),
    hub,
    notifier: openNotifier(config, hub),
    nowMs: Date.now,
  });
  await engine.start();
  return { engine, diagnostics };
}

/** Logs failed deliveries. */
export const openNotifier = (config: ControllerConfig, hub: Hub): Notifier =>
  createNotifier({
    entries: config.notifications,
    absolute: (path) => resolve(config.folder, path),
    nowMs: Date.now,
    random: Math.random,
    onDelivery: ({ notification, kind, set, outcome, attempts, message }) => {
      if (outcome === 'sent') hub.log('debug', `notification ${notification}: ${kind} was sent`, { set });
      else
        hub.log(
          'warn',
          `notification ${notification}: ${kind} was not sent (${outcome}, attempts: ${attempts}): ${message ?? ''}`,
          { set },
        );
    },
  });

/** Mentions the hosts file, which a new user may not know. */
const aboutFile = (one: Diagnostic, { hostsFile }: ControllerConfig): Diagnostic =>
  one.code === 'unreadable' && one.file === hostsFile
    ? { ...one, remedy: 'write it, or name another one as `hosts.file` of gantry.yaml' }
    : one;

const setProblem = (config: ControllerConfig, set: string, path: string, message: string): readonly Diagnostic[] =>
  placed(config, [wrong('bad-config', path, `the hosts of the set ${set}: ${message}`)]);

/** Problems at their places in gantry.yaml. */
export const placed = ({ file, locate }: ControllerConfig, findings: readonly Finding[]): readonly Diagnostic[] =>
  findings.map((finding) => locate?.(finding) ?? { ...finding, file });
