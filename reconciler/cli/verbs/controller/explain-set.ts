// Explains why a set has its status and what ends it, from the set, its hosts and its source. Pure.
import type { ApprovalGate, Overview, SetStatus, Suspension } from '../../../controller/contract/index.ts';
import { short } from './answer.ts';

/** One line per cause, the first cause first. */
export function explainSet(set: SetStatus, { controller, sources, sets, hosts }: Overview): readonly string[] {
  const source = sources.find(({ name }) => name === set.source);
  return [
    ...(controller.isActive ? [] : [`This controller waits: ${controller.holder ?? 'another one'} is active.`]),
    ...(set.message === undefined ? [] : [set.message]),
    ...approvalLines(set),
    ...revisionLines(set),
    ...(source?.error === undefined
      ? []
      : [`The source ${set.source} could not be read: ${source.error} The last good revision stays in force.`]),
    ...set.problems.map((problem) => `The newest manifests have an error and are not applied: ${problem}`),
    ...set.suspensions.map(suspensionLine),
    ...(set.pruneGate === undefined
      ? []
      : [
          `A deletion waits for an approval: gantry controller prune ${set.name} shows it, gantry controller approve ${set.name} --reason TEXT allows it.`,
        ]),
    ...(set.nextWindow === undefined ? [] : [`Changes are next allowed at ${set.nextWindow}.`]),
    ...set.dependsOn.flatMap((name) => {
      const other = sets.find((one) => one.name === name);
      return other === undefined || other.status === 'synced'
        ? []
        : [`It depends on ${name}, which is ${other.status}.`];
    }),
    ...set.hosts.flatMap((host) => hostLine(set, host, hosts.find(({ name }) => name === host.host)?.message)),
  ];
}

function approvalLines({ name, message, approvalGate, approvals = [] }: SetStatus): readonly string[] {
  return [
    ...(approvalGate === undefined
      ? []
      : [
          ...linesOfPlan(approvalGate),
          `A person who neither wrote nor requested it approves it with: gantry controller approve ${name} --reason TEXT`,
        ]),
    ...approvals.map(
      ({ revision, by, until, reason }) => `${by} approved the plan of ${short(revision)} until ${until}: ${reason}`,
    ),
  ].filter((line) => line !== message);
}

/** The steps that await approval, host by host. */
export const linesOfPlan = ({ revision, hosts }: ApprovalGate): readonly string[] => [
  `The plan of ${short(revision)} waits for an approval:`,
  ...hosts.map(({ host, count, steps }) => lineOfHost(host, steps, count)),
];

/** `count`: how many there are in all. */
export function lineOfHost(host: string, named: readonly string[], count: number): string {
  const more = count > named.length ? ` and ${count - named.length} more` : '';
  return `  ${host}: ${named.join(', ')}${more}`;
}

function revisionLines({ revision, hosts }: SetStatus): readonly string[] {
  if (revision === undefined) return ['No revision of its source was read yet.'];
  const have = hosts.filter(({ appliedRevision }) => appliedRevision === revision).length;
  return [`Revision ${short(revision)} is in force: ${have} of ${hosts.length} hosts have it.`];
}

function suspensionLine({ id, set, host, address, path, reason, by, until }: Suspension): string {
  const what = [path, address].filter((word) => word !== undefined).join(' of ') || 'The set';
  const where = host === undefined ? '' : ` on ${host}`;
  const end = until === undefined ? `gantry controller resume ${set} ${id} ends it` : `until ${until}`;
  return `${what}${where} is left alone by ${by}: ${reason} (${end}).`;
}

function hostLine(
  { status: whole }: SetStatus,
  { host, status, error, objects }: SetStatus['hosts'][number],
  offline?: string,
): readonly string[] {
  const why = error ?? offline;
  if (status === 'synced' || (why === undefined && status === whole && objects.synced === objects.total)) return [];
  const apart = objects.total - objects.synced;
  const count = apart === 0 ? '' : `, ${apart} of ${objects.total} objects are not as declared`;
  return [`${host} is ${status}${why === undefined ? '' : `: ${why}`}${count}.`];
}
