// Image and alias endpoints: requests to use cases and back; uploads are received here, exports streamed.
import type { IncomingMessage } from 'node:http';
import { ImageCreate } from '../../api/image/image.ts';
import type { Operation } from '../../api/operation.ts';
import type { Caller } from '../../services/caller.ts';
import type { Upload } from '../../services/images/add-image.ts';
import { aliasUrl, type Aliases } from '../../services/images/aliases.ts';
import { imageUrl, type ImageStore } from '../../services/images/image-store.ts';
import { readBody } from '../request-body.ts';
import { exportImage } from '../image-export.ts';
import { async_, collection, done, movedTo, recursionOf, sync, type RouteTable } from '../route.ts';
import { receiveUpload } from '../image-upload.ts';

export interface ImageRouteDeps {
  readonly images: ImageStore;
  readonly aliases: Aliases;
  readonly add: (caller: Caller, upload: Upload) => Operation;
  readonly make: (caller: Caller, body: ImageCreate) => Promise<Operation>;
  readonly refresh: (caller: Caller, fingerprint: string) => Operation;
  readonly dir: string;
  readonly headerPrefix: string;
}

const isTrusted = (caller: Caller): boolean => caller.class === 'trusted';

export function imageRoutes(deps: ImageRouteDeps) {
  const { images } = deps;
  return {
    'images.list': ({ caller, query }) => {
      const list = images.list(isTrusted(caller));
      return sync(recursionOf(query) > 0 ? list : list.map((image) => imageUrl(image.fingerprint)));
    },
    'images.create': async ({ caller, request, signal }) => {
      if (isJson(request)) {
        return async_(await deps.make(caller, await readBody(request, ImageCreate)));
      }
      return async_(deps.add(caller, await receiveUpload(request, deps.dir, deps.headerPrefix, signal)));
    },
    'images.get': (context) => {
      const { object, etag } = images.get(context.params.fingerprint, isTrusted(context.caller), context.query.secret);
      return sync(object, etag);
    },
    'images.put': async (context) => {
      await images.put(context.caller, context.params.fingerprint, context.body, context.ifMatch);
      return done;
    },
    'images.patch': async (context) => {
      await images.patch(context.caller, context.params.fingerprint, context.body, context.ifMatch);
      return done;
    },
    'images.delete': (context) => async_(images.delete(context.caller, context.params.fingerprint)),
    'images.secret': (context) => async_(images.secret(context.params.fingerprint)),
    'images.refresh': (context) => async_(deps.refresh(context.caller, context.params.fingerprint)),
    'images.export': async (context) => {
      const entry = images.visible(context.params.fingerprint, isTrusted(context.caller), context.query.secret);
      return { kind: 'stream', ...(await exportImage(await images.parts(entry.name))) };
    },
    ...aliasRoutes(deps.aliases),
  } satisfies Partial<RouteTable>;
}

function aliasRoutes(aliases: Aliases) {
  return {
    'aliases.list': ({ query }) =>
      collection(
        query,
        () => aliases.names().map(aliasUrl),
        () => aliases.list(),
      ),
    'aliases.create': async ({ caller, body }) => {
      const create = body;
      await aliases.create(caller, create);
      return movedTo(aliasUrl(create.name));
    },
    'aliases.get': (context) => {
      const { object, etag } = aliases.get(context.params['*'], isTrusted(context.caller));
      return sync(object, etag);
    },
    'aliases.put': async (context) => {
      await aliases.put(context.caller, context.params['*'], context.body, context.ifMatch);
      return done;
    },
    'aliases.patch': async (context) => {
      await aliases.patch(context.caller, context.params['*'], context.body, context.ifMatch);
      return done;
    },
    'aliases.post': async (context) => {
      const { name } = context.body;
      await aliases.rename(context.caller, context.params['*'], name);
      return movedTo(aliasUrl(name));
    },
    'aliases.delete': async (context) => {
      await aliases.delete(context.caller, context.params['*']);
      return done;
    },
  } satisfies Partial<RouteTable>;
}

/** Everything else is an upload; a JSON document sent without its content type is told by its length and headers. */
function isJson(request: IncomingMessage): boolean {
  return (request.headers['content-type'] ?? '').toLowerCase().startsWith('application/json');
}
