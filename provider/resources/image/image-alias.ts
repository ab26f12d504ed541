// gantry_image_alias: a name for an image.
import { listByKind } from '../shared/listing.ts';
import { aliasName } from '../../../server/api/names.ts';
import { isNotFound } from '../../../server/client/client-error.ts';
import type { Link } from '../../connection/link.ts';
import { text, type StateOf } from '../../framework/attribute.ts';
import type { Context } from '../../framework/object-type.ts';
import { deleteKind, readKind } from '../shared/read-by-kind.ts';
import { descriptionAttribute, gantryResource, nameAttribute } from '../shared/common-attributes.ts';
import { renameKind } from '../shared/rename.ts';
import { differing, edit, editOf, perform, performCreate } from '../shared/write.ts';
import { importByWhole } from '../shared/import-ids.ts';

const attributes = {
  name: nameAttribute('Name; it may hold slashes: `debian/12`.', aliasName),
  description: descriptionAttribute,
  target: text({ doc: 'Fingerprint of the image.', required: true }),
};

const post = ({ name, description, target }: StateOf<typeof attributes>, { client, signal }: Context<Link>) =>
  client.client.create('image_alias', { name, description: description ?? '', target }, {}, signal);

export const imageAlias = gantryResource({
  typeName: 'gantry_image_alias',
  doc: 'A name for an image. Another target moves the name; containers of the old image do not change.',
  attributes,
  identity: ['name'],
  listing: listByKind('image_alias'),
  importing: importByWhole('name', 'debian/12'),
  async read(state, context) {
    const live = await readKind(context, 'image_alias', state.name);
    return live === undefined ? null : { description: live.description, target: live.target };
  },
  async create({ planned }, context) {
    await performCreate(context, () => post(planned, context));
  },
  async update({ planned }, prior, context) {
    const change = editOf(context, 'image_alias', prior.name, {
      changedSince: (live) => differing(prior, live, ['description', 'target']),
      body: () => ({ description: planned.description ?? '', target: planned.target }),
    });
    try {
      await edit(context, change);
      await renameKind(context, 'image_alias', prior, planned);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // A replacement may have just deleted the image, and with it the alias.
      await perform(context, () => post(planned, context));
    }
  },
  delete: (prior, context) => deleteKind(context, 'image_alias', prior.name),
});
