// Container names that LXD refuses: no host names. Its clients rely on that.
import { containerName, type NameRule } from '../../api/names.ts';
import { errors } from '../../api/errors.ts';
import { plainName } from '../../api/project/project-names.ts';
import type { RouteHandler } from '../route.ts';

/** Real system section 0, each measured on 5.0.2. Pure. */
export const lxdContainerName: NameRule = (name) => {
  if (name.length > 63) return `must have at most 63 characters, has ${name.length}`;
  if (name.startsWith('-') || name.endsWith('-')) return 'must not start or end with a dash';
  if (/^[0-9]/.test(name)) return 'must not start with a digit';
  return /^[A-Za-z0-9-]*$/.test(name) ? containerName(name) : 'must have letters, digits and dashes only';
};

/** An existing container with such a name, from before or from Gantry's own clients, can be updated. */
export function createWithName(create: RouteHandler): RouteHandler {
  return (context) => {
    const { name, source } = (context.body ?? {}) as { readonly name?: unknown; readonly source?: unknown };
    const ofUpload = context.request.headers['x-lxd-name'];
    const isRefresh = (source as { readonly refresh?: unknown } | undefined)?.refresh === true;
    if (!isRefresh) refuseName(name ?? ofUpload);
    return create(context);
  };
}

/** It may keep its name when it moves to another pool, project or member. */
export function renameWithName(change: RouteHandler): RouteHandler {
  return (context) => {
    const { name } = (context.body ?? {}) as { readonly name?: unknown };
    if (name !== plainName(context.params['name'] ?? '')) refuseName(name);
    return change(context);
  };
}

function refuseName(name: unknown): void {
  if (typeof name !== 'string' || name === '') return;
  const rule = lxdContainerName(name);
  if (rule !== undefined) throw errors.invalidName('container', name, rule);
}
