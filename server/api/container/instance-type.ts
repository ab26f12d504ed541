// Instance types (`c2-m4`, `t2.micro`, `aws:t2.micro`) and the limits they mean; the caller passes the tables of clouds. Pure.
import { hint } from '../text/nearest-word.ts';
import { shown } from '../text/value-checks.ts';

export interface InstanceSize {
  /** Processors, fractions allowed. */
  readonly cpus?: number;
  /** GB. */
  readonly memoryGb?: number;
}

/** Cloud -> type -> size, as fetched from the public table. */
export type InstanceTypes = Readonly<Record<string, Readonly<Record<string, InstanceSize>>>>;

/** The size, or the reason why the text is not one. */
export function parseInstanceType(text: string, clouds: InstanceTypes = {}): InstanceSize | string {
  const colon = text.indexOf(':');
  return (
    freeForm(text) ??
    (colon < 0 ? inAnyCloud(text, clouds) : inCloud(text.slice(0, colon), text.slice(colon + 1), clouds))
  );
}

/** `c2-m4`, `c1.5`, `m0.5-c1`: either part may be omitted; no part may occur twice. */
function freeForm(text: string): InstanceSize | undefined {
  const size: { cpus?: number; memoryGb?: number } = {};
  for (const part of text.split('-')) {
    const match = /^([cm])([0-9]{1,6}(?:\.[0-9]{1,6})?)$/.exec(part);
    const field = match?.[1] === 'c' ? 'cpus' : 'memoryGb';
    const amount = Number(match?.[2]);
    if (match === null || size[field] !== undefined || !(amount > 0)) return undefined;
    size[field] = amount;
  }
  return size;
}

function inAnyCloud(type: string, clouds: InstanceTypes): InstanceSize | string {
  const having = Object.keys(clouds).filter((cloud) => Object.hasOwn(clouds[cloud] ?? {}, type));
  if (having.length > 1) {
    return `${shown(type)} is a type of ${having.join(' and ')}: say which, as in ${having[0]}:${type}`;
  }
  const all = Object.values(clouds).flatMap((types) => Object.keys(types));
  return clouds[having[0] ?? '']?.[type] ?? unknown(type, all);
}

function inCloud(cloud: string, type: string, clouds: InstanceTypes): InstanceSize | string {
  const types = Object.hasOwn(clouds, cloud) ? clouds[cloud] : undefined;
  if (types === undefined) return `the cloud ${shown(cloud)} is unknown${hint(cloud, Object.keys(clouds))}`;
  return Object.hasOwn(types, type) ? (types[type] ?? unknown(type, [])) : unknown(type, Object.keys(types));
}

const unknown = (type: string, known: readonly string[]): string =>
  `${shown(type)} is no instance type: use cN-mN (N processors, N GB) or the name of a cloud's type${hint(type, known)}`;

/** The config keys of a size. A fraction of a processor becomes a CPU time share. */
export function limitsOfInstanceSize(size: InstanceSize): Record<string, string> {
  const limits: Record<string, string> = {};
  if (size.cpus !== undefined) {
    const whole = Math.ceil(size.cpus);
    const share = Math.floor((size.cpus / whole) * 100);
    limits['limits.cpu'] = String(whole);
    if (share < 100) limits['limits.cpu.allowance'] = `${Math.max(1, share)}%`;
  }
  if (size.memoryGb !== undefined) limits['limits.memory'] = `${Math.max(1, Math.trunc(size.memoryGb * 1024))}MB`;
  return limits;
}

/** The config of a container made with an instance type: explicit keys win. A returned text is the error in the type. */
export function applyInstanceType(
  type: string,
  config: Readonly<Record<string, string>>,
  clouds: InstanceTypes = {},
): Record<string, string> | string {
  const size = parseInstanceType(type, clouds);
  return typeof size === 'string' ? size : { ...limitsOfInstanceSize(size), ...config };
}
