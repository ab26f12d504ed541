// Processor architectures: names, numeric ids, other spellings, and compatible architectures. Pure.
import { hint } from '../text/nearest-word.ts';

interface Architecture {
  /** Number of the architecture in image databases. */
  readonly id: number;
  readonly aliases: readonly string[];
  /** The 32-bit architecture whose programs it also runs. */
  readonly personality?: string;
}

export const architectures = {
  i686: { id: 1, aliases: ['i386', 'i586', '386', 'x86'] },
  x86_64: { id: 2, aliases: ['amd64', 'x64'], personality: 'i686' },
  armv7l: { id: 3, aliases: ['armel', 'armhf', 'arm', 'armhfp', 'armv7a_hardfp', 'armv7', 'armv7a'] },
  aarch64: { id: 4, aliases: ['arm64'], personality: 'armv7l' },
  ppc: { id: 5, aliases: ['powerpc'] },
  ppc64: { id: 6, aliases: ['powerpc64'], personality: 'ppc' },
  ppc64le: { id: 7, aliases: ['ppc64el'] },
  s390x: { id: 8, aliases: [] },
} as const satisfies Record<string, Architecture>;

export type ArchitectureName = keyof typeof architectures;

const names = new Map<string, ArchitectureName>(
  (Object.entries(architectures) as [ArchitectureName, Architecture][]).flatMap(([name, { aliases }]) =>
    [name, ...aliases].map((alias) => [alias, name] as const),
  ),
);

/** The kernel's name of an architecture by any of its names; undefined for an unknown one. */
export const architectureName = (text: string): ArchitectureName | undefined => names.get(text.toLowerCase());

/** 0 for an unknown one. */
export function architectureId(text: string): number {
  const name = architectureName(text);
  return name === undefined ? 0 : architectures[name].id;
}

/** The architectures that a host with this kernel name runs: its own first, then its 32-bit personality. */
export function architecturesOfHost(machine: string): [string, ...string[]] {
  const name = architectureName(machine);
  if (name === undefined) return [machine];
  const { personality }: Architecture = architectures[name];
  return personality === undefined ? [name] : [name, personality];
}

/** Undefined if the name is valid. */
export function architectureRule(text: string): string | undefined {
  return architectureName(text) === undefined
    ? `must be one of ${Object.keys(architectures).join(', ')}${hint(text, names.keys())}`
    : undefined;
}
