// What the rules of a tenant judge, and how they say what breaks them.
import type { KindName } from '../../../server/api/kinds.ts';
import type { HostFacts } from '../../core/documents/host-pattern.ts';
import type { JsonObject } from '../../core/documents/document.ts';

export interface Breach {
  /** The member of the tenant in gantry.yaml. */
  readonly rule: 'kinds' | 'names' | 'projects' | 'hosts' | 'uses' | 'images' | 'keys' | 'restrictions' | 'waits';
  /** In the document; empty: all of it. */
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
  /** Places outside of the container that waits try. */
  readonly tried: readonly string[];
  /** Fingerprints of images that the tenant declares itself. */
  readonly ownImages: ReadonlySet<string>;
}
