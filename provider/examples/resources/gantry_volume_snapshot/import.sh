terraform import gantry_volume_snapshot.example 'default/data/before-upgrade'
