// Data sources of storage volumes and of trusted certificates.
import { certificate, storageVolume } from '../../server/client/facts/objects.ts';
import { flag, text, textMap, texts } from '../framework/attribute.ts';
import { gantryData, serverWideData } from '../resources/shared/common-attributes.ts';
import { find, nameToFind, shownText } from './read-existing.ts';

export const storageVolumeData = gantryData({
  typeName: 'gantry_storage_volume',
  doc: 'A custom volume of a storage pool.',
  attributes: {
    pool: text({ doc: 'Name of its pool.', required: true }),
    name: nameToFind('volume'),
    description: shownText('Description.'),
    config: textMap({ doc: 'Config as the server has it.', computed: true }),
    location: shownText('Cluster member that has it.'),
    used_by: texts({ doc: 'URLs of the objects that use it.', computed: true }),
  },
  read: (config, context) =>
    find(context, 'storage volume', `${config.pool}/${config.name}`, (ask) => storageVolume(ask, config)),
});

export const certificateData = serverWideData({
  typeName: 'gantry_certificate',
  doc: 'A trusted client certificate.',
  attributes: {
    fingerprint: text({ doc: 'SHA-256 of the certificate, hexadecimal, or its beginning.', required: true }),
    name: shownText('Name.'),
    certificate: shownText('The certificate, as PEM.'),
    restricted: flag({ doc: 'Whether its client may use only its projects.', computed: true }),
    projects: texts({ doc: 'Projects that its client may use while restricted.', computed: true }),
  },
  read: (config, context) => find(context, 'certificate', config.fingerprint, (ask) => certificate(ask, config)),
});
