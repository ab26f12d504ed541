terraform import gantry_image_alias.example 'debian/12'
