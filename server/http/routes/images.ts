// Image and alias endpoints: requests to use cases and back; uploads are received here, exports streamed.
import type { IncomingMessage } from 'node:http';
import { ImageCreate, type ImageAliasCreate, type ImageAliasPut, type ImagePut } from '../../api/image/image.ts';
import type { Operation } from '../../api/operation.ts';
import type { Caller } from '../../services/caller.ts';
import type { Upload } from '../../services/images/add-image.ts';
import { aliasUrl, type Aliases } from '../../services/images/aliases.ts';
import { imageUrl, type ImageStore } from '../../services/images/image-store.ts';
import { readBody } from '../request-body.ts';
import { exportImage } from '../image-export.ts';
import { async_, collection, done, movedTo, param, recursionOf, sync, type RouteTable } from '../route.ts';
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

export function imageRoutes(deps: ImageRouteDeps): RouteTable {
  const { images } = deps;
  return {
    'images.list': ({ caller, query }) => {
      const list = images.list(isTrusted(caller));
      return sync(recursionOf(query) > 0 ? list : list.map((image) => imageUrl(image.fingerprint)));
    },
    'images.create': async ({ caller, request, signal }) => {
      if (isJson(request)) {
        return async_(await deps.make(caller, (await readBody(request, ImageCreate)) as ImageCreate));
      }
      return async_(deps.add(caller, await receiveUpload(request, deps.dir, deps.headerPrefix, signal)));
    },
    'images.get': (context) => {
      const { object, etag } = images.get(
        param(context, 'fingerprint'),
        isTrusted(context.caller),
        context.query['secret'],
      );
      return sync(object, etag);
    },
    'images.put': async (context) => {
      await images.put(context.caller, param(context, 'fingerprint'), context.body as ImagePut, context.ifMatch);
      return done;
    },
    'images.patch': async (context) => {
      await images.patch(context.caller, param(context, 'fingerprint'), context.body as ImagePut, context.ifMatch);
      return done;
    },
    'images.delete': (context) => async_(images.delete(context.caller, param(context, 'fingerprint'))),
    'images.secret': (context) => async_(images.secret(param(context, 'fingerprint'))),
    'images.refresh': (context) => async_(deps.refresh(context.caller, param(context, 'fingerprint'))),
    'images.export': async (context) => {
      const entry = images.visible(param(context, 'fingerprint'), isTrusted(context.caller), context.query['secret']);
      return { kind: 'stream', ...(await exportImage(await images.parts(entry.name))) };
    },
    ...aliasRoutes(deps.aliases),
  };
}

function aliasRoutes(aliases: Aliases): RouteTable {
  return {
    'aliases.list': ({ query }) =>
      collection(
        query,
        () => aliases.names().map(aliasUrl),
        () => aliases.list(),
      ),
    'aliases.create': async ({ caller, body }) => {
      const create = body as ImageAliasCreate;
      await aliases.create(caller, create);
      return movedTo(aliasUrl(create.name));
    },
    'aliases.get': (context) => {
      const { object, etag } = aliases.get(param(context, '*'), isTrusted(context.caller));
      return sync(object, etag);
    },
    'aliases.put': async (context) => {
      await aliases.put(context.caller, param(context, '*'), context.body as ImageAliasPut, context.ifMatch);
      return done;
    },
    'aliases.patch': async (context) => {
      await aliases.patch(context.caller, param(context, '*'), context.body as ImageAliasPut, context.ifMatch);
      return done;
    },
    'aliases.post': async (context) => {
      const { name } = context.body as { name: string };
      await aliases.rename(context.caller, param(context, '*'), name);
      return movedTo(aliasUrl(name));
    },
    'aliases.delete': async (context) => {
      await aliases.delete(context.caller, param(context, '*'));
      return done;
    },
  };
}

/** Everything else is an upload; a JSON document sent without its content type is told by its length and headers. */
function isJson(request: IncomingMessage): boolean {
  return (request.headers['content-type'] ?? '').toLowerCase().startsWith('application/json');
}
