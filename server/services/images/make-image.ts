// POST /1.0/images with a JSON body: what is refused is refused at once, the rest is one operation (spec 4.8).
import { errors } from '../../api/errors.ts';
import type { ImageCreate } from '../../api/image.ts';
import { aliasName } from '../../api/names.ts';
import type { Operation } from '../../api/operation.ts';
import type { Problem } from '../../api/problem.ts';
import { addressRule } from '../../drivers/remote/address.ts';
import type { Operations } from '../../operations/manager.ts';
import type { Records } from '../../records/records.ts';
import type { Caller } from '../caller.ts';
import type { ImagePulls, PullWish } from './image-pulls.ts';
import { readRemoteSource } from './remote-source.ts';

export interface MakeImageDeps {
  readonly records: Records;
  readonly operations: Operations;
  readonly pulls: ImagePulls;
}

export function makeImage(deps: MakeImageDeps, caller: Caller, body: ImageCreate): Operation {
  const { source } = body;
  refuseAliases(deps, body);
  switch (source.type) {
    case 'image': {
      const remote = readRemoteSource('image', source);
      return fetching(deps, (report, signal) => deps.pulls.pull(caller, remote, wishOf(body), report, signal));
    }
    case 'url': {
      const url = readUrl(body);
      return fetching(deps, (report, signal) => deps.pulls.pullUrl(caller, url, wishOf(body), report, signal));
    }
    case 'container':
    case 'snapshot':
      throw errors.notImplemented('Publishing is not available in this release');
    default:
      throw errors.invalid('image', [
        {
          path: 'source.type',
          message: `must be image, container, snapshot or url, is ${JSON.stringify(source.type)}`,
        },
      ]);
  }
}

type Report = (metadata: Readonly<Record<string, unknown>>) => void;

function fetching(
  { operations }: MakeImageDeps,
  work: (report: Report, signal: AbortSignal) => Promise<{ readonly fingerprint: string; readonly size: string }>,
): Operation {
  return operations.start({
    description: 'Downloading image',
    resources: {},
    mayCancel: true,
    run: async (handle, signal) => ({ ...(await work((metadata) => handle.update(metadata), signal)) }),
  });
}

const wishOf = (body: ImageCreate): PullWish => ({
  filename: body.filename ?? '',
  public: body.public ?? false,
  autoUpdate: body.auto_update ?? false,
  properties: body.properties ?? {},
  aliases: aliasesOf(body),
  copyAliases: body.copy_aliases ?? false,
});

export const aliasesOf = (body: ImageCreate): PullWish['aliases'] =>
  (body.aliases ?? []).map(({ name, description }) => ({ name, description: description ?? '' }));

/** They are taken, or no names: known before anything starts. */
function refuseAliases({ records }: MakeImageDeps, body: ImageCreate): void {
  const problems: Problem[] = (body.aliases ?? []).flatMap(({ name }, index) => {
    const rule = aliasName(name);
    return rule === undefined ? [] : [{ path: `aliases.${index}.name`, message: rule }];
  });
  if (problems.length > 0) throw errors.invalid('image', problems);
  const taken = (body.aliases ?? []).find(({ name }) => records.aliases.has(name));
  if (taken !== undefined) throw errors.exists('image alias', taken.name);
}

function readUrl({ source, auto_update: autoUpdate }: ImageCreate): string {
  const url = source.url ?? '';
  const rule = url === '' ? 'is required: the address that stands for the image' : addressRule(url, 'direct');
  const problems: Problem[] = rule === undefined ? [] : [{ path: 'source.url', message: rule }];
  if (autoUpdate === true) {
    problems.push({
      path: 'auto_update',
      message: 'needs a source of type image with an alias: an address cannot be asked again',
    });
  }
  if (problems.length > 0) throw errors.invalid('image', problems);
  return url;
}
