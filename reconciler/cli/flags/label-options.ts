// Selects documents and live objects by labels, as in `-l app=web`. Pure.
import type { Address, Document } from '../../core/documents/document.ts';
import type { ExportedObject } from '../../core/adoption/exported.ts';
import {
  isSelectorProblem,
  listLabels,
  matchesSelector,
  parseSelector,
  type LabelSelector,
} from '../../core/documents/label-selector.ts';
import { mapOf } from '../../core/documents/json-values.ts';
import { labelsOf, presentLabels, type Labels } from '../../core/documents/labels.ts';
import type { PlanOptions } from '../../core/plan/plan.ts';
import type { HostOptions, SelectorOptions } from './host-flags.ts';
import { planOptionsOf, type GuardOptions } from './plan-flags.ts';
import { type CliError, usageError, commandError } from '../errors/usage-error.ts';

export function readSelector(flag: string, text: string): LabelSelector {
  const parsed = parseSelector(text);
  if (isSelectorProblem(parsed)) throw usageError(`${flag} ${JSON.stringify(text)}: ${parsed.message}`);
  return parsed;
}

type SelectingOptions = SelectorOptions & Pick<HostOptions, 'hosts'>;

/** Selects objects: -l selects hosts where there is --hosts. */
export function objectSelector(options: SelectingOptions): LabelSelector | undefined {
  if (options.objectSelector !== undefined) return readSelector('--object-selector', options.objectSelector);
  return options.selector === undefined || options.hosts !== undefined
    ? undefined
    : readSelector('--selector', options.selector);
}

/** Addresses of the selected documents; undefined without a selector. */
export function selectedAddresses(
  options: SelectingOptions,
  documents: readonly Document[],
): readonly Address[] | undefined {
  const selector = objectSelector(options);
  if (selector === undefined) return undefined;
  return documents.filter(({ labels }) => matchesSelector(selector, labels ?? {})).map(({ address }) => address);
}

/** Plan options with selected documents as targets. Throws when none is selected, since no targets would mean everything. */
export function planOptionsFor(options: SelectingOptions & GuardOptions, documents: readonly Document[]): PlanOptions {
  const given = planOptionsOf(options);
  const selected = selectedAddresses(options, documents);
  if (selected === undefined) return given;
  if ((given.targets ?? []).length > 0) throw usageError('--selector and --target cannot be used together');
  if (selected.length === 0)
    throw noneSelected(
      'document',
      documents.map(({ labels }) => labels ?? {}),
    );
  return { ...given, targets: selected };
}

export function noneSelected(what: string, all: readonly Readonly<Record<string, string>>[]): CliError {
  const known = listLabels(all);
  const which = known === '' ? `no ${what} has labels` : `the labels are ${known}`;
  return commandError(`The selector matches no ${what}: ${which}`);
}

/** The selected objects; all without a selector. */
export function filterLabelled<T>(
  options: SelectingOptions,
  objects: readonly T[],
  labels: (object: T) => Labels,
): readonly T[] {
  const selector = objectSelector(options);
  return selector === undefined ? objects : objects.filter((object) => matchesSelector(selector, labels(object)));
}

export const filterLive = <T extends object>(options: SelectingOptions, objects: readonly T[]): readonly T[] =>
  filterLabelled(options, objects, labelsOf);

export const filterExported = (
  options: SelectingOptions,
  objects: readonly ExportedObject[],
): readonly ExportedObject[] =>
  filterLabelled(options, objects, ({ values }) => presentLabels(mapOf(values?.['labels'])));
