"""People before they are anybody's members: a person belongs to no tenant, so no door of a tenant stands before them."""

from apps.tenants.models import User


def person_named(username: str) -> User:
    """The person of this user name, made if there is none; they sign in by a one-time link until they set a password.

    Raises ValidationError for a name that cannot be one.
    """
    known = User.objects.filter(username=username, is_service=False).first()
    if known is not None:
        return known
    user = User(username=username, email=username if "@" in username else "", is_staff=True)
    user.set_unusable_password()
    user.full_clean(exclude=["password"])
    user.save()
    return user
