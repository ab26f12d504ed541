// A draft document: an object of the configuration, and its parts.
import { addressOf, type Address, type Json } from '../../core/documents/document.ts';
import { scopedName } from '../../core/text/scoped-name.ts';
import type { Instance } from './evaluation/instance.ts';
import type { ProviderSettings } from './provider-blocks.ts';
import { isSet, wordOf, type ObjectType } from './types/resource-type.ts';

export interface Draft {
  readonly instance: Instance;
  readonly type: ObjectType;
  readonly settings: ProviderSettings;
  readonly value: Record<string, Json>;
  readonly writtenAs: Readonly<Record<string, string>>;
  readonly writtenBy: Record<string, string>;
  readonly sensitive: string[];
  /** The instances in this document: the object and its parts. */
  readonly instances: Instance[];
}

/** `container/web`, as in `depends_on` of documents. */
export function documentAddress({ type: { kind }, value }: Pick<Draft, 'type' | 'value'>): Address {
  const { name, pool, project } = value;
  const plain = kind === 'storage_volume' ? `${wordOf(pool)}/${wordOf(name)}` : isSet(name) ? wordOf(name) : 'server';
  return addressOf(kind, scopedName(plain, typeof project === 'string' ? project : undefined));
}

/** A part whose container is missing. */
export class PartError extends Error {
  readonly argument: string;
  constructor(argument: string, message: string) {
    super(message);
    this.argument = argument;
  }
}
