// A diagnostic: one message for people about a manifest or a plan, with its place and its remedy.
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
  /** The source line, and the number of marked characters. */
  readonly excerpt?: { readonly text: string; readonly length: number };
  /** Further places, such as the other one of two duplicates. */
  readonly related?: readonly {
    readonly message: string;
    readonly file: string;
    readonly line: number;
    readonly column: number;
  }[];
}
