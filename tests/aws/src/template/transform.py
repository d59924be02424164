"""Does to the template on standard input what CloudFormation's SAM transform would, and prints the result as JSON.

Nothing is asked of AWS: there are no managed policies, and the code is where `package` would have put it.
"""

import json
import os
import sys

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse


class NoManagedPolicies:
    def load(self):
        return {}


# The translator wants one to be set, and keeps `AWS::Region` as it is.
os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
template = yaml_parse(sys.stdin.read())
for resource in template["Resources"].values():
    if resource["Type"] == "AWS::Serverless::Function":
        resource["Properties"]["CodeUri"] = "s3://code/bootstrap.zip"
print(json.dumps(transform(template, {}, NoManagedPolicies())))
