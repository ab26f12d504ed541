// Metadata and template endpoints of containers: requests to use cases and back.
import type { ContainerMetadataPut } from '../../api/container/container.ts';
import { errors } from '../../api/errors.ts';
import type { ContainersMetadata } from '../../services/containers/files/metadata.ts';
import { maxTemplateBytes } from '../../services/containers/files/volume-files.ts';
import { readBytes } from '../request-body.ts';
import { done, param, sync, type RouteContext, type RouteTable } from '../route.ts';
import { bytesReply } from './container-files.ts';

export function containerMetadataRoutes(metadata: ContainersMetadata): RouteTable {
  return {
    'containers.metadata.get': async (context) => {
      const { object, etag } = await metadata.get(param(context, 'name'));
      return sync(object, etag);
    },
    'containers.metadata.put': async (context) => {
      const { caller, body, ifMatch } = context;
      await metadata.put(caller, param(context, 'name'), body as ContainerMetadataPut, ifMatch);
      return done;
    },
    'containers.templates.get': async (context) => {
      const name = param(context, 'name');
      if ((context.query['path'] ?? '') === '') return sync(await metadata.templates(name));
      const bytes = await metadata.readTemplate(name, templateOf(context));
      return bytesReply({ 'content-type': 'application/octet-stream' }, bytes);
    },
    'containers.templates.post': async (context) => {
      const [name, template] = [param(context, 'name'), templateOf(context)];
      await metadata.createTemplate(context.caller, name, template, await readBytes(context.request, maxTemplateBytes));
      return done;
    },
    'containers.templates.put': async (context) => {
      const [name, template] = [param(context, 'name'), templateOf(context)];
      await metadata.replaceTemplate(
        context.caller,
        name,
        template,
        await readBytes(context.request, maxTemplateBytes),
      );
      return done;
    },
    'containers.templates.delete': async (context) => {
      await metadata.deleteTemplate(context.caller, param(context, 'name'), templateOf(context));
      return done;
    },
  };
}

function templateOf(context: RouteContext): string {
  const path = context.query['path'] ?? '';
  if (path === '') {
    throw errors.badRequest('The query parameter path is missing: which template is meant?', [
      { path: 'path', message: 'is required' },
    ]);
  }
  return path;
}
