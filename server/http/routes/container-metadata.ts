// Metadata and template endpoints of containers: requests to use cases and back.
import { errors } from '../../api/errors.ts';
import type { ContainersMetadata } from '../../services/containers/files/metadata.ts';
import { maxTemplateBytes } from '../../services/containers/files/volume-files.ts';
import { readBytes } from '../request-body.ts';
import { done, doneAfter, found, type RouteTable, sync } from '../route.ts';
import { bytesReply } from './container-files.ts';

export function containerMetadataRoutes({
  containerMetadata: metadata,
}: {
  readonly containerMetadata: ContainersMetadata;
}) {
  return {
    'containers.metadata.get': async (context) => found(await metadata.get(context.params.name)),
    'containers.metadata.put': ({ caller, params, body, ifMatch }) =>
      doneAfter(metadata.put(caller, params.name, body, ifMatch)),
    'containers.metadata.patch': ({ caller, params, body, ifMatch }) =>
      doneAfter(metadata.patch(caller, params.name, body, ifMatch)),
    'containers.templates.get': async (context) => {
      const name = context.params.name;
      if ((context.query.path ?? '') === '') return sync(await metadata.templates(name));
      const bytes = await metadata.readTemplate(name, templateOf(context));
      return bytesReply({ 'content-type': 'application/octet-stream' }, bytes);
    },
    'containers.templates.post': async (context) => {
      const [name, template] = [context.params.name, templateOf(context)];
      await metadata.createTemplate(context.caller, name, template, await readBytes(context.request, maxTemplateBytes));
      return done;
    },
    'containers.templates.put': async (context) => {
      const [name, template] = [context.params.name, templateOf(context)];
      await metadata.replaceTemplate(
        context.caller,
        name,
        template,
        await readBytes(context.request, maxTemplateBytes),
      );
      return done;
    },
    'containers.templates.delete': (context) =>
      doneAfter(metadata.deleteTemplate(context.caller, context.params.name, templateOf(context))),
  } satisfies Partial<RouteTable>;
}

function templateOf({ query }: { readonly query: { readonly path?: string | undefined } }): string {
  const path = query.path ?? '';
  if (path === '') {
    throw errors.badRequest('The query parameter path is missing: which template is meant?', [
      { path: 'path', message: 'is required' },
    ]);
  }
  return path;
}
