// Reads objects that must exist: a data source without its object is an error.
import { isNotFound } from '../../server/client/client-error.ts';
import type { Link } from '../connection/link.ts';
import { text } from '../framework/attribute.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import type { Context } from '../framework/object-type.ts';

export const nameToFind = (what: string) => text({ doc: `Name of the ${what}.`, required: true });
export const shownText = (doc: string) => text({ doc, computed: true });

export async function find<T>(context: Context<Link>, what: string, name: string, path: string): Promise<T> {
  try {
    return (await context.client.client.http.send<T>({ method: 'GET', path }, context.signal)).metadata;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const detail = `${context.client.client.host} has no object of that name. If this configuration creates it, refer to its resource instead.`;
    throw new DiagnosticError([failure(`There is no ${what} ${JSON.stringify(name)}`, detail, at('name'))], error);
  }
}
