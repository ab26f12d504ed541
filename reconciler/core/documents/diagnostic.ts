// One thing a person should know about a manifest or a plan, and how it is shown. Finding things is not done here.
import type { Address } from './document.ts';

export type Severity = 'error' | 'warning';

export interface Diagnostic {
  readonly severity: Severity;
  /** Stable, kebab-case: `unknown-key`, `missing-reference`. */
  readonly code: string;
  readonly address?: Address;
  /** Path in the document: `devices.eth0.parent`; empty for the whole. */
  readonly path: string;
  readonly message: string;
  readonly remedy?: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** The source line, and how many characters of it are meant. */
  readonly excerpt?: { readonly text: string; readonly length: number };
  /** Further places, such as the other one of two duplicates. */
  readonly related?: readonly {
    readonly message: string;
    readonly file: string;
    readonly line: number;
    readonly column: number;
  }[];
}
