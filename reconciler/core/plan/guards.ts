// Guards that several decisions use, with their messages. Pure.
import type { Address } from '../documents/document.ts';
import type { OwnerRecord } from '../documents/ownership-records.ts';
import type { Guard } from './plan.ts';
import { namesText } from '../../../server/api/text/names-text.ts';

export const protectedGuard = (address: Address, verb: string): Guard => ({
  code: 'protected',
  address,
  message: `${address} is protected: this plan would ${verb} it`,
  remedy: `first remove manage.protect and security.protection.delete in a separate apply, then ${verb} it`,
});

export const inUseGuard = (address: Address, verb: string, users: readonly string[]): Guard => ({
  code: 'in-use',
  address,
  message: `cannot ${verb} ${address}: ${namesText(users)} ${users.length === 1 ? 'uses' : 'use'} it`,
  remedy: 'delete or change its users first',
});

export const elsewhereGuard = (address: Address, verb: string, set: string, place: string): Guard => ({
  code: 'elsewhere',
  address,
  message: `${address} was declared at ${place}, also as part of the set ${set}: from here this plan would ${verb} it`,
  remedy: `${verb} it there, name this set otherwise with --set, or make the object this directory's with --take-over`,
});

/** `records`: the records of other sets. */
export function foreignGuard(address: Address, set: string, records: ReadonlyMap<string, OwnerRecord>): Guard {
  const owners = [...records]
    .map(([name, { place }]) => (place === undefined ? `the set ${name}` : `the set ${name} (declared at ${place})`))
    .sort();
  const whose = owners.length === 0 ? 'no set: it was made without gantry, or released' : owners.join(' and ');
  return {
    code: 'elsewhere',
    address,
    message: `${address} exists and belongs to ${whose}; the set ${set} does not own it and leaves it as it is`,
    remedy:
      owners.length === 0
        ? 'make it part of this set with gantry adopt first, or delete it with gantry delete'
        : 'destroy it with --set of that set, from where it is declared',
  };
}
