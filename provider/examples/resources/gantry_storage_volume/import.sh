terraform import gantry_storage_volume.example 'default/data'
