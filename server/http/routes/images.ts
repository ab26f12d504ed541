// Image and alias endpoints: requests to use cases and back; uploads are received here, exports streamed.
import { ImagePost } from '../../api/image/image.ts';
import type { Operation } from '../../api/operation.ts';
import { isOfMember, isTrustedCaller, type Caller } from '../../services/shared/caller.ts';
import type { Upload } from '../../services/images/add-image.ts';
import { aliasUrl, imageUrl } from '../../api/project/project-names.ts';
import type { Aliases } from '../../services/images/aliases.ts';
import type { ImageStore } from '../../services/images/image-store.ts';
import { isOfThisServer } from '../../services/transfer/publish/make-image.ts';
import type { Room } from '../../services/shared/room.ts';
import { checkBody, isJson, isOctets } from '../request-body.ts';
import { checkNamedProjects } from '../restricted.ts';
import { exportImage } from '../image-export.ts';
import {
  async_,
  collection,
  doneAfter,
  found,
  isOfAllProjects,
  movedTo,
  recursionOf,
  type RouteContext,
  type RouteTable,
  sync,
} from '../route.ts';
import { documentIn, receiveUpload } from '../image-upload.ts';

export interface ImageRouteDeps {
  readonly images: ImageStore;
  readonly aliases: Aliases;
  readonly add: (caller: Caller, upload: Upload) => Operation;
  /** `project`: the source's. */
  readonly make: (caller: Caller, body: ImagePost, project: string) => Promise<Operation>;
  /** See imageRoom. */
  readonly room: (project: string) => Room | undefined;
  readonly refresh: (caller: Caller, fingerprint: string) => Operation;
  readonly dir: string;
  readonly headerPrefix: string;
}

export function imageRoutes(deps: ImageRouteDeps) {
  const { images } = deps;
  const make = async ({ caller, namesOf }: Pick<RouteContext, 'caller' | 'namesOf'>, body: ImagePost) => {
    checkNamedProjects(caller, body);
    const isHere = isOfThisServer(body.source);
    return async_(await deps.make(caller, body, isHere ? namesOf(body.source.project).project : caller.project));
  };
  return {
    'images.list': ({ caller, query }) => {
      const isAll = isOfAllProjects(query) && isTrustedCaller(caller);
      const list = isAll ? images.listAll() : images.list(caller.project, isTrustedCaller(caller));
      return sync(list.map(({ name, object }) => (recursionOf(query) > 0 ? object : imageUrl(name))));
    },
    'images.create': async (context) => {
      const { caller, request, signal } = context;
      if (isJson(request)) return make(context, context.body);
      const room = deps.room(caller.project);
      const upload = await receiveUpload(request, deps.dir, deps.headerPrefix, signal, room);
      const document = isOctets(request) ? undefined : await documentIn(upload);
      return document === undefined
        ? async_(deps.add(caller, upload))
        : make(context, checkBody(ImagePost, document.value));
    },
    'images.get': (context) =>
      found(images.get(context.params.fingerprint, isTrustedCaller(context.caller), context.query.secret)),
    'images.put': (context) =>
      doneAfter(images.put(context.caller, context.params.fingerprint, context.body, context.ifMatch)),
    'images.patch': (context) =>
      doneAfter(images.patch(context.caller, context.params.fingerprint, context.body, context.ifMatch)),
    'images.delete': (context) =>
      async_(images.delete(context.caller, context.params.fingerprint, !isOfMember(context.caller))),
    'images.secret': (context) => async_(images.secret(context.caller, context.params.fingerprint)),
    'images.refresh': (context) => async_(deps.refresh(context.caller, context.params.fingerprint)),
    'images.export': async (context) => {
      const entry = images.visible(context.params.fingerprint, isTrustedCaller(context.caller), context.query.secret);
      return exportImage(await images.parts(entry.name), context.request.headers);
    },
    ...aliasRoutes(deps.aliases),
  } satisfies Partial<RouteTable>;
}

function aliasRoutes(aliases: Aliases) {
  return {
    'aliases.list': ({ caller: { project }, query }) =>
      collection(
        query,
        () => aliases.urls(project),
        () => aliases.list(project),
      ),
    'aliases.create': async ({ caller, body, names }) => {
      const name = names.alias(body.name);
      await aliases.create(caller, name, body);
      return movedTo(aliasUrl(name));
    },
    'aliases.get': (context) => found(aliases.get(context.params['*'], isTrustedCaller(context.caller))),
    'aliases.put': (context) =>
      doneAfter(aliases.put(context.caller, context.params['*'], context.body, context.ifMatch)),
    'aliases.patch': (context) =>
      doneAfter(aliases.patch(context.caller, context.params['*'], context.body, context.ifMatch)),
    'aliases.post': async (context) => {
      const to = context.names.alias(context.body.name);
      await aliases.rename(context.caller, context.params['*'], to);
      return movedTo(aliasUrl(to));
    },
    'aliases.delete': (context) => doneAfter(aliases.delete(context.caller, context.params['*'])),
  } satisfies Partial<RouteTable>;
}
