// Reads objects that must exist: a data source without its object is an error.
import { isNotFound } from '../../server/client/client-error.ts';
import { FactsArgumentError, type Ask } from '../../server/client/facts/ask.ts';
import type { Link } from '../connection/link.ts';
import { text } from '../framework/attribute.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import type { Context } from '../framework/object-type.ts';

export const nameToFind = (what: string) => text({ doc: `Name of the ${what}.`, required: true });
export const shownText = (doc: string) => text({ doc, computed: true });

export const askIn = ({ client, signal }: Context<Link>): Ask => ({ client: client.client, signal });

export async function find<T>(
  context: Context<Link>,
  what: string,
  name: string,
  read: (ask: Ask) => Promise<T>,
): Promise<T> {
  try {
    return await read(askIn(context));
  } catch (error) {
    if (error instanceof FactsArgumentError)
      throw new DiagnosticError([failure('The image is ambiguous or missing', `${error.message}.`)], error);
    if (!isNotFound(error)) throw error;
    const detail = `${context.client.client.host} has no object of that name. If this configuration creates it, refer to its resource instead.`;
    throw new DiagnosticError([failure(`There is no ${what} ${JSON.stringify(name)}`, detail, at('name'))], error);
  }
}
