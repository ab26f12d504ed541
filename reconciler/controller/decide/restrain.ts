// Restricts a plan on one host: suspended objects and fields, drift that is only reported, closed windows, paused repairs. Pure.
import type { Address, Document, IgnoreRule } from '../../core/documents/document.ts';
import type { Guard, PlanOptions } from '../../core/plan/plan.ts';

export interface Restraint {
  /** Left alone as a whole, with the reason. */
  readonly objects: ReadonlyMap<string, string>;
  /** Paths that are neither compared nor written, by address. */
  readonly paths: ReadonlyMap<string, readonly IgnoreRule[]>;
  /** Changes that restart, recreate or prune are refused. */
  readonly isCalm: boolean;
  /** Waits of manage.wait are skipped. */
  readonly skipsWaits: boolean;
  /** Longest time for each wait. */
  readonly waitMs?: number;
}

export const noRestraint: Restraint = { objects: new Map(), paths: new Map(), isCalm: false, skipsWaits: false };

/** `exists`: the object is on the host. A restrained object that is missing is excluded, with its dependents. */
export function restrained(
  documents: readonly Document[],
  options: PlanOptions,
  restraint: Restraint,
  exists: (document: Document) => boolean,
): { readonly documents: readonly Document[]; readonly options: PlanOptions } {
  const { objects, isCalm } = restraint;
  const missing = documents.filter((document) => objects.has(document.address) && !exists(document));
  const exclude = [...(options.exclude ?? []), ...missing.map(({ address }): Address => address)];
  const declared = new Set<string>(documents.map(({ address }) => address));
  const leaves = new Map([...objects].filter(([address]) => !declared.has(address)));
  return {
    documents: documents.map((document) => restrainedDocument(document, restraint)),
    options: {
      ...options,
      ...(exclude.length === 0 ? {} : { exclude }),
      ...(leaves.size === 0 ? {} : { leaves }),
      // A limit of 0 refuses every prune, so that the plan lists it as waiting.
      ...(isCalm
        ? { allowRestart: false, allowRecreate: false, defersDisruption: true, pruneLimit: { count: 0 } }
        : {}),
    },
  };
}

/** Guards that disappear when a window for disruptive changes opens. */
export const isForWindow = ({ code }: Guard): boolean => code === 'disruption' || code === 'prune-limit';

/** Guards that disappear when another object is ready. */
export const isForOther = ({ code }: Guard): boolean => code === 'dependency';

/** Guards that a person lifts. */
export const isGate = ({ code }: Guard, isCalm: boolean): boolean => code === 'prune-limit' && !isCalm;

/** What the controller offers instead of the flags of the command line. */
const remedies: Partial<Readonly<Record<Guard['code'], string>>> = {
  data: 'set prune.data: true in gantry.yaml, or apply it with manage.prune: true before it is removed from the source',
  disruption:
    'set manage.disruption in its document, or allow.restart or allow.recreate in gantry.yaml, or revert the change',
  conflict:
    'agree on one value, leave the keys to the other set, or take them over with allow.conflicts in gantry.yaml',
};

export const remedyOf = ({ code, remedy }: Guard): string => remedies[code] ?? remedy;

/** The message of a guard. While disruption is not allowed, a prune limit means that pruning has to wait. */
export function refusalText({ code, message }: Guard, isCalm: boolean, set: string): string {
  if (code !== 'prune-limit') return message;
  return isCalm
    ? 'objects that are no longer declared are deleted when a window for disruptive changes opens'
    : `${message}; when the source has all manifests, approve it for this revision on the page or with: gantry controller prune ${set} --approve`;
}

function restrainedDocument(document: Document, restraint: Restraint): Document {
  const { objects, paths, isCalm, skipsWaits, waitMs } = restraint;
  const { address, manage } = document;
  const rules = paths.get(address) ?? [];
  const isAlone = objects.has(address);
  const isPowerAlone = isAlone || rules.some(({ path }) => path === 'state');
  const isShort = waitMs !== undefined && manage.wait.some(({ timeoutMs }) => timeoutMs > waitMs);
  if (!isAlone && rules.length === 0 && !isCalm && !isShort && !(skipsWaits && manage.wait.length > 0)) return document;
  const wait = skipsWaits || isAlone ? [] : manage.wait;
  return {
    ...document,
    manage: {
      ...manage,
      ignore: [...manage.ignore, ...rules],
      wait: waitMs === undefined ? wait : wait.map((one) => ({ ...one, timeoutMs: Math.min(one.timeoutMs, waitMs) })),
      ...(isCalm ? { disruption: 'none' as const } : {}),
      ...(isPowerAlone ? { power: 'ignore' as const } : {}),
      ...(isAlone ? { policy: ['observe' as const] } : {}),
    },
  };
}
