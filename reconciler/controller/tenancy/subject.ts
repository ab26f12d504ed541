// The input and output of tenant rules: the object to check, and its breaches.
import type { KindName } from '../../../server/api/kinds.ts';
import type { HostFacts } from '../../core/documents/host-pattern.ts';
import type { JsonObject } from '../../core/documents/document.ts';

export interface Breach {
  /** The member of the tenant in gantry.yaml. */
  readonly rule: 'kinds' | 'names' | 'projects' | 'hosts' | 'uses' | 'images' | 'keys' | 'restrictions' | 'waits';
  /** The path in the document; empty: the whole. */
  readonly path: string;
  readonly message: string;
}

export interface NamedObject {
  readonly kind: KindName;
  readonly name: string;
  readonly path: string;
}

export interface Subject {
  readonly kind: KindName;
  /** Without its project. */
  readonly name: string;
  readonly project: string;
  readonly host: HostFacts;
  /** Texts for scalars; empty for a step that writes no values. */
  readonly values: JsonObject;
  readonly references: readonly NamedObject[];
  /** Addresses outside the container that its waits connect to. */
  readonly tried: readonly string[];
  /** Fingerprints of images that the tenant declares itself. */
  readonly ownImages: ReadonlySet<string>;
}
