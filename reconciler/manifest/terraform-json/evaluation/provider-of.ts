// Finds the provider block of a resource: its own module's, or the one that the module call passes down.
import { isMap } from '../../../core/documents/json-values.ts';
import { bareName, below, type Piece, type Resource } from '../config/blocks.ts';
import type { Module } from './instance.ts';

export interface ProviderBlock {
  readonly piece: Piece;
  /** The scope of its expressions. */
  readonly module: Module;
  readonly name: string;
}

/** `gantry`, `gantry.alias`: as written, or from the prefix of the type. */
export function providerName({ type, body }: Resource): string {
  const written = body['provider'];
  return typeof written === 'string' ? bareName(written) : type.slice(0, type.indexOf('_'));
}

/** Undefined when it is not declared. */
export function providerBlock(module: Module, name: string): ProviderBlock | undefined {
  const piece = module.tree.config.providers.get(name);
  if (piece !== undefined) return { piece, module, name };
  const { parent } = module;
  if (parent === undefined) return undefined;
  const passed = module.tree.call?.body['providers'];
  const written = isMap(passed) ? passed[name] : undefined;
  if (typeof written === 'string') return providerBlock(parent, bareName(written));
  return name.includes('.') ? undefined : providerBlock(parent, name);
}

export function projectFor(module: Module, resource: Resource): string | undefined {
  const block = providerBlock(module, providerName(resource));
  if (block === undefined) return undefined;
  const place = below(block.piece, 'project');
  const value = block.module.evaluate(block.piece.body['project'] ?? null, { place });
  return typeof value === 'string' ? value : undefined;
}
