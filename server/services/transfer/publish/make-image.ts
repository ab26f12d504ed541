// POST /1.0/images with a JSON body: refusals come at once, the rest is one operation (spec 4.8).
import type { ServiceParts } from '../../shared/service-parts.ts';
import { errors } from '../../../api/errors.ts';
import type { ImagePost } from '../../../api/image/image.ts';
import { aliasName } from '../../../api/names.ts';
import { plainName } from '../../../api/project/project-names.ts';
import { aliasIn, projectWith } from '../../shared/project-scope.ts';
import { imageOfProject, type CopyImageDeps } from '../../images/copy-image.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Problem } from '../../../api/problem.ts';
import { addressRule } from '../../../drivers/remote/address.ts';
import type { Caller } from '../../shared/caller.ts';
import type { ImagePulls, PullWish } from '../../images/image-pulls.ts';
import { publishImage, type PublishDeps } from './publish.ts';
import { readRemoteSource } from '../../images/remote-source.ts';

export interface MakeImageDeps extends Pick<ServiceParts, 'records' | 'operations'> {
  readonly pulls: ImagePulls;
  readonly publishing: PublishDeps;
  readonly copying: CopyImageDeps;
}

/** `project`: the source's, on this server. */
export async function makeImage(
  deps: MakeImageDeps,
  caller: Caller,
  body: ImagePost,
  project: string,
): Promise<Operation> {
  const { source } = body;
  if (source.mode === 'push')
    throw errors.invalid('image', [
      { path: 'source.mode', message: 'cannot be push: images are copied here in mode pull or relay' },
    ]);
  refuseWrong(deps, caller, body);
  switch (source.type) {
    case 'image': {
      if (isOfThisServer(source)) return copying(deps, caller, body, project);
      const remote = readRemoteSource('image', source);
      return fetching(deps, caller, (report, signal) => deps.pulls.pull(caller, remote, wishOf(body), report, signal));
    }
    case 'url': {
      const url = readUrl(body);
      return fetching(deps, caller, (report, signal) => deps.pulls.pullUrl(caller, url, wishOf(body), report, signal));
    }
    case 'container':
    case 'snapshot':
      return publishImage(deps.publishing, caller, body, aliasesOf(body));
    default:
      throw errors.invalid('image', [
        {
          path: 'source.type',
          message: `must be image, container, snapshot or url, is ${JSON.stringify(source.type)}`,
        },
      ]);
  }
}

/** A source without a server address, with a project of this server. */
export const isOfThisServer = ({ type, server = '', project = '' }: ImagePost['source']): boolean =>
  type === 'image' && server === '' && project !== '';

function copying(deps: MakeImageDeps, caller: Caller, body: ImagePost, project: string): Operation {
  const { source } = body;
  const owner = projectWith(deps.records, project, 'features.images');
  if (owner === projectWith(deps.records, caller.project, 'features.images')) {
    const message = `must name a project with other images than ${caller.project}: both use those of ${owner}`;
    throw errors.invalid('image', [{ path: 'source.project', message }]);
  }
  const { image, document } = deps.copying.images.resolve(owner, source);
  if (body.auto_update === true && document.source === undefined) {
    const message = `the image ${plainName(image)} has no source that could have a newer one`;
    throw errors.invalid('image', [{ path: 'auto_update', message }]);
  }
  return fetching(deps, caller, (report, signal) =>
    deps.pulls.keep(caller, imageOfProject(deps.copying, image), document.source, wishOf(body), report, signal),
  );
}

type Report = (metadata: Readonly<Record<string, unknown>>) => void;

function fetching(
  { operations }: MakeImageDeps,
  { project }: Caller,
  work: (report: Report, signal: AbortSignal) => Promise<{ readonly fingerprint: string; readonly size: string }>,
): Operation {
  return operations.start({
    description: 'Downloading image',
    resources: {},
    project,
    mayCancel: true,
    run: async (handle, signal) => ({ ...(await work((metadata) => handle.update(metadata), signal)) }),
  });
}

const wishOf = (body: ImagePost): PullWish => ({
  filename: body.filename ?? '',
  public: body.public ?? false,
  autoUpdate: body.auto_update ?? false,
  properties: body.properties ?? {},
  aliases: aliasesOf(body),
  copyAliases: body.copy_aliases ?? false,
});

const aliasesOf = (body: ImagePost): PullWish['aliases'] =>
  (body.aliases ?? []).map(({ name, description }) => ({ name, description: description ?? '' }));

/** Refuses taken or invalid aliases, and settings that only remote images have, before anything starts. */
function refuseWrong({ records }: MakeImageDeps, { project }: Caller, body: ImagePost): void {
  const names = (body.aliases ?? []).map(({ name }) => name);
  const problems: Problem[] = names.flatMap((name, index) => {
    const rule = names.indexOf(name) < index ? `occurs twice: ${name}` : aliasName(name);
    return rule === undefined ? [] : [{ path: `aliases.${index}.name`, message: rule }];
  });
  if (body.auto_update === true && body.source.type !== 'image') {
    const message = 'needs a source of type image with an alias: nothing else can be asked for a newer one';
    problems.push({ path: 'auto_update', message });
  }
  if (problems.length > 0) throw errors.invalid('image', problems);
  const taken = names.find((name) => records.aliases.has(aliasIn(records, project, name)));
  if (taken !== undefined) throw errors.exists('image alias', taken);
}

function readUrl({ source }: ImagePost): string {
  const url = source.url ?? '';
  const rule = url === '' ? 'is required: the address that stands for the image' : addressRule(url, 'direct');
  if (rule !== undefined) throw errors.invalid('image', [{ path: 'source.url', message: rule }]);
  return url;
}
