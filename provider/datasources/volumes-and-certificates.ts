// Data sources of storage volumes and of trusted certificates.
import type { Certificate } from '../../server/api/server/certificate.ts';
import type { StorageVolume } from '../../server/api/storage/volume.ts';
import { flag, text, textMap, texts } from '../framework/attribute.ts';
import { gantryData, serverWideData, shownMap } from '../resources/shared/common-attributes.ts';
import { volumePath } from '../resources/storage/storage-volume.ts';
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
  async read({ pool, name }, context) {
    const live = await find<StorageVolume>(context, 'storage volume', `${pool}/${name}`, volumePath({ pool, name }));
    return {
      description: live.description,
      config: shownMap(live.config),
      location: live.location ?? '',
      used_by: live.used_by ?? [],
    };
  },
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
  async read({ fingerprint }, context) {
    const path = `/1.0/certificates/${encodeURIComponent(fingerprint)}`;
    const live = await find<Certificate>(context, 'certificate', fingerprint, path);
    return {
      name: live.name,
      certificate: live.certificate,
      restricted: live.restricted ?? false,
      projects: live.projects ?? [],
    };
  },
});
