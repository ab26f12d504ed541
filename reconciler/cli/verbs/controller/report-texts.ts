// The texts of `gantry controller plan` and `diff`. Pure.
import type { Difference, ObjectDetail, Preview, PreviewChange } from '../../../controller/contract/index.ts';
import { short } from './answer.ts';

export function previewText(set: string, { revision, problems, hosts }: Preview): string {
  const wrong = problems.map(({ message, place }) => `Problem: ${place === undefined ? '' : `${place}: `}${message}`);
  return [`Plan of ${short(revision)} for the set ${set}:`, ...wrong, ...hosts.flatMap(hostLines)].join('\n');
}

function hostLines({ host, error, changes, restarts, objects }: Preview['hosts'][number]): readonly string[] {
  if (error !== undefined) return [`${host}: no plan: ${error}`];
  const counts = `${changes.create} to create, ${changes.update} to update, ${changes.delete} to delete`;
  const restarting = restarts === 0 ? '' : `, ${restarts} to restart`;
  return [`${host}: ${counts}${restarting}`, ...objects.flatMap(changeLines)];
}

const signs = { create: '+', update: '~', replace: '-/+', delete: '-', 'no-op': '!' } as const;

function changeLines({ action, address, power, reasons, guard, differences }: PreviewChange): readonly string[] {
  const also = power === undefined ? '' : ` (${power})`;
  return [
    `${signs[action].padStart(5)} ${address}${also}${guard === undefined ? '' : ` REFUSED: ${guard}`}`,
    ...reasons.map((reason) => `        # ${reason}`),
    ...differences.flatMap(differenceLines),
  ];
}

export function detailText({ summary: { host, address, status, message }, differences }: ObjectDetail): string {
  const head = `${address} on ${host}: ${status}${message === undefined ? '' : `: ${message}`}`;
  return [head, ...differences.flatMap(differenceLines)].join('\n');
}

/** `-` is the live value, `+` the desired one. */
function differenceLines(difference: Difference): readonly string[] {
  const { path, isSecret } = difference;
  const name = path === '' ? 'the object' : path;
  if (isSecret) return [`      ~ ${name} = (secret, differs)`];
  const line = (sign: string, value: unknown): string => `      ${sign} ${name} = ${JSON.stringify(value)}`;
  return [
    ...('live' in difference ? [line('-', difference.live)] : []),
    ...('desired' in difference ? [line('+', difference.desired)] : []),
  ];
}
