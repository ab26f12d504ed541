// The table of resource types.
import { gantryTypes } from './gantry-types.ts';
import { portedTypes } from './ported-types.ts';
import type { ResourceType } from './resource-type.ts';

const all = new Map<string, ResourceType>(Object.entries({ ...gantryTypes, ...portedTypes }));

export const resourceTypeOf = (name: string): ResourceType | undefined => all.get(name);
export const resourceTypeNames: readonly string[] = [...all.keys()];

/** The providers whose types gantry knows. */
export const ownPrefixes: readonly string[] = ['gantry_', 'lxd_', 'incus_'];
