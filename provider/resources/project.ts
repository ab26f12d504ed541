// gantry_project: a name space, on servers that have projects.
import { listByKind } from './shared/listing.ts';
import type { Static } from 'typebox';
import type { Project } from '../../server/api/project/project.ts';
import { projectName } from '../../server/api/names.ts';
import { isNotServed } from '../../server/client/client-error.ts';
import { lacking, needExtension } from '../connection/link.ts';
import { flag, type StateOf } from '../framework/attribute.ts';
import { failure } from '../framework/diagnostic.ts';
import { isImported } from '../framework/import-mark.ts';
import { at } from '../framework/path.ts';
import { completedConfigAttribute, describedChange } from './shared/completed-config.ts';
import { deletePath, editPath, readPath, segment } from './shared/read-by-path.ts';
import { present, readMap, type MapRules } from './shared/config-maps.ts';
import {
  descriptionAttribute,
  effectiveConfigAttribute,
  serverResource,
  nameAttribute,
  shownMap,
} from './shared/common-attributes.ts';
import { emptyProject } from './project-contents.ts';
import { renamePath } from './shared/rename.ts';
import { keepEtag, performCreate } from './shared/write.ts';
import { importByWhole } from './shared/import-ids.ts';

const rules: MapRules = { isComputed: (key) => key.startsWith('features.') };
const attributes = {
  name: nameAttribute('Name of the project.', projectName),
  description: descriptionAttribute,
  config: completedConfigAttribute('Config keys. Default of `features.*`: the values of the server.', rules),
  force_destroy: flag({
    doc: 'Whether destroy also deletes its contents: containers, images, profiles, volumes and networks.',
    default: false,
  }),
  effective_config: effectiveConfigAttribute,
};
type State = StateOf<typeof attributes>;
type Live = Static<typeof Project>;
const pathOf = (name: string): string => `/1.0/projects/${segment(name)}`;
const readProject = (live: Live, state: State) => ({
  description: live.description,
  // After an import, all keys: a configuration generated from them must create the same project.
  config: state.config === null ? present(live.config) : readMap(live.config, state.config, rules),
  effective_config: shownMap(live.config),
  force_destroy: state.force_destroy ?? false,
});

export const project = serverResource({
  typeName: 'gantry_project',
  doc: 'A project: a name space for containers, images and profiles. The server must support projects.',
  attributes,
  identity: ['name'],
  listing: listByKind('project'),
  importing: importByWhole('name', 'team'),
  async read(state, context) {
    const found = await readPath<Live>(context, pathOf(state.name));
    if (found === undefined) return null;
    keepEtag(context.privateData, found);
    return readProject(found.metadata, state);
  },
  plan({ prior, planned, replace }) {
    // `default` always exists.
    if (prior !== null && planned.name !== prior.name && prior.name === 'default') replace(at('name'));
  },
  planDelete: ({ name }) =>
    name === 'default'
      ? [
          failure(
            'The project default cannot be deleted',
            'Every server has it, and it keeps its name. To manage it no longer, run terraform state rm with its address.',
          ),
        ]
      : [],
  async create({ planned }, context) {
    const { client } = context;
    needExtension(client, 'projects', 'have projects');
    const { name, description, config } = planned;
    const json = { name, description: description ?? '', config: present(config ?? {}) };
    try {
      await performCreate(context, () =>
        client.client.http.send({ method: 'POST', path: '/1.0/projects', json }, context.signal),
      );
    } catch (error) {
      if (isNotServed(error)) throw lacking(client, 'have projects', error.message, error);
      throw error;
    }
  },
  async update({ planned }, prior, context) {
    // After an import the configured keys are unknown.
    const change = describedChange({ prior, planned }, rules, readProject, { keeps: isImported(context.privateData) });
    await editPath<Live, object>(context, `project ${JSON.stringify(prior.name)}`, pathOf(prior.name), change);
    await renamePath(context, pathOf(prior.name), prior, planned);
  },
  async delete(prior, context) {
    if (prior.force_destroy === true) await emptyProject(context, prior.name);
    await deletePath(context, pathOf(prior.name));
  },
});
